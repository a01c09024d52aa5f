"""Runs lists of hostile, broken and honest programs and says what did not come out as it must.

Also a script (`python attack_list.py LIST… [--pretend WORD]… …`), so that the same list can be run by
another user: it prints what went wrong as JSON and leaves with status 1 if anything did.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import pwd
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.sandbox import IoPairs, Limits, Outcome, Program, Sandbox, Stdout, TestProgram, pool

LIMITS = Limits(cpu_seconds=0.4, wall_seconds=20)
FOR_SLEEPERS = Limits(cpu_seconds=0.4, wall_seconds=3)
FOR_THE_HONEST = Limits(cpu_seconds=10)
HONEST = IoPairs(code="def f(x):\n    return x + 1", pairs=((1, 2),))
SECRET = "assay-secret-7d1f"
PLACES_TO_LITTER = ("/tmp", "/dev/shm", "/var/tmp")

TRY = """
import ctypes
def closed(n):
    import os
    try: os.fstat(n)
    except OSError: return True
def buffer(n): return ctypes.create_string_buffer(n)
def getppid():
    import os
    return os.getppid()
def call(n, *args):
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(n), *args)
def machine_code(code):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, 4096, 7, 0x22, -1, 0)
    ctypes.memmove(page, code, len(code))
    return ctypes.CFUNCTYPE(ctypes.c_long)(page)()
def f(x):
    r = None
    try:
{attempt}
    except BaseException as error:
        return 'shut: ' + type(error).__name__
    return 'OPEN ' + str(r)[:80] if r else 'shut'
"""


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[str]:
    """What this process puts into temporary files goes here, apart from what other tests do at the same time."""
    with tempfile.TemporaryDirectory(prefix="litter-") as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


def read_list(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def problems(
    attacks: Sequence[dict[str, Any]], *, pretend: Sequence[str] = (), min_tier: str = "B", honest_every: int = 1
) -> tuple[str, list[str]]:
    """(tier, what did not come out as it must), every so many attacks followed by an honest program on their zygote."""
    return asyncio.run(_problems(attacks, tuple(pretend), min_tier, honest_every))


async def _problems(
    attacks: Sequence[dict[str, Any]], pretend: tuple[str, ...], min_tier: str, honest_every: int
) -> tuple[str, list[str]]:
    found: list[str] = []
    before = {place: set(_entries(place)) for place in PLACES_TO_LITTER}
    with own_temporary_folder() as folder, targets() as words:
        waiting = iter(attacks)
        streams = [_stream(waiting, words, pretend, min_tier, honest_every, found) for _ in range(pool.cores() + 1)]
        tiers = await asyncio.gather(*streams)
        found += [f"{name} was left behind" for name in _entries(folder) if name.startswith("assay-canary")]
    for place in PLACES_TO_LITTER:
        left = {name for name in set(_entries(place)) - before[place] if "pwn" in name}
        found += [f"{place}/{name} was left behind" for name in sorted(left)]
    return tiers[0], found


async def _stream(
    waiting: Iterator[dict[str, Any]],
    words: dict[str, str],
    pretend: tuple[str, ...],
    min_tier: str,
    honest_every: int,
    found: list[str],
) -> str:
    async with Sandbox(workers=1, pretend=pretend, min_tier=min_tier) as sandbox:
        since: list[str] = []
        for attack in waiting:
            if _applies(attack, sandbox.report.tier):
                found += await _run_one(sandbox, attack, words)
                since.append(attack["name"])
            if len(since) >= honest_every:
                found += await _after(sandbox, since)
                since = []
        found += await _after(sandbox, since)
        return sandbox.report.tier


async def _after(sandbox: Sandbox, attacks: list[str]) -> list[str]:
    """What an honest program has to say about the sandbox that these attacks leave behind."""
    honest = await sandbox.run(HONEST, FOR_THE_HONEST)
    if honest.outcome == "pass":
        return []
    return [f"{', '.join(attacks)}: an honest program afterwards: {honest.outcome} {honest.checks}"]


def _applies(attack: dict[str, Any], tier: str) -> bool:
    if attack.get("machine", platform.machine()) != platform.machine():
        return False
    if tier == "D" and attack.get("needs") == "imports":
        return False
    return tier in ("A", "C") or attack.get("class", attack.get("cls")) not in ("metadata", "fs-meta")


async def _run_one(sandbox: Sandbox, attack: dict[str, Any], words: dict[str, str]) -> list[str]:
    name = attack["name"]
    try:
        outcome: Outcome | None = await sandbox.run(program_of(attack, words), limits_for(attack))
    except FailureError as error:
        outcome = None
        if attack["must"] != "refused":
            return [f"{name}: not judged: {error.failure.kind}: {error}"]
    except Exception as error:
        return [f"{name}: the harness broke: {type(error).__name__}: {error}"]
    found = _wrong(attack, outcome)
    if sandbox.replaced:
        found.append(f"{name}: the zygote did not survive")
    return found


def limits_for(attack: dict[str, Any]) -> Limits:
    """Generous to the honest, so that a busy machine fails no test; short for those who only sleep."""
    if attack["must"] == "pass":
        return FOR_THE_HONEST
    return FOR_SLEEPERS if attack.get("sleeps") or attack["name"] == "bomb sleep" else LIMITS


def _wrong(attack: dict[str, Any], outcome: Outcome | None) -> list[str]:
    name, must = attack["name"], attack["must"]
    if outcome is None or must == "refused":
        return [] if outcome is None else [f"{name}: {outcome.outcome}, must be refused"]
    told = " ".join(check.detail for check in outcome.checks)
    found = []
    passed = outcome.outcome == "pass" and (outcome.grade == "strong" or must != "no_strong_pass")
    if passed != (must == "pass"):
        found.append(f"{name}: {outcome.outcome} ({outcome.grade}), must {must}: {told}")
    if outcome.grade != attack.get("grade", outcome.grade):
        found.append(f"{name}: graded {outcome.grade}, must be {attack['grade']}")
    if must in ("shut", "zygote_lives") and is_open(outcome):
        found.append(f"{name}: {told}")
    if attack.get("outcomes") and outcome.outcome not in attack["outcomes"]:
        found.append(f"{name}: {outcome.outcome}, expected {attack['outcomes']}: {told}")
    if any(character in told for character in "\x1b\x00\u202e"):
        found.append(f"{name}: its text was not cleaned")
    return found


def is_open(outcome: Outcome) -> bool:
    """The candidate says that its attack succeeded; the shared list's own expected text does not count."""
    return any("OPEN" in check.detail.replace("OPEN-never", "") for check in outcome.checks)


def program_of(attack: dict[str, Any], words: dict[str, str]) -> Program:
    """The program of a line, in this list's form or in that of the shared list."""
    if "mode" in attack:
        return _shared_form(attack)
    if "attempt" in attack:
        attempt = attack["attempt"]
        for word, value in words.items():
            attempt = attempt.replace("{" + word + "}", value)
        body = "\n".join("        " + line for line in attempt.splitlines())
        return IoPairs(code=TRY.replace("{attempt}", body), pairs=((1, "never"),))
    return msgspec.convert(attack["program"], Program)


def _shared_form(attack: dict[str, Any]) -> Program:
    if attack["mode"] == "io":
        pairs = tuple((given, _python_value(expected)) for given, expected in attack["pairs"])
        return IoPairs(code=attack["code"], function=attack["fn"], pairs=pairs, star=True, strict=True)
    if attack["mode"] == "assert":
        return TestProgram(code=attack["code"], tests=attack["test"], entry_points=tuple(attack["names"]))
    return Stdout(code=attack["code"], stdin=attack["stdin"], expected=(attack["expected"],))


def _python_value(value: Any) -> Any:
    return eval(value["__py__"]) if isinstance(value, dict) and "__py__" in value else value


@contextlib.contextmanager
def targets() -> Iterator[dict[str, str]]:
    """What the attacks aim at: a secret file, a port, a unix socket, this process itself."""
    os.environ["ASSAY_TEST_SECRET"] = SECRET
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        os.chmod(folder, 0o777)
        secret = Path(folder, "secret")
        secret.write_text(SECRET)
        secret.chmod(0o666)
        unix.bind(f"{folder}/socket")
        unix.listen()
        os.chmod(f"{folder}/socket", 0o777)
        yield {
            "secret": str(secret),
            "folder": folder,
            "home": pwd.getpwuid(0).pw_dir,
            "source": str(Path(pool.__file__)),
            "port": str(server.getsockname()[1]),
            "unix": f"{folder}/socket",
            "hostname": socket.gethostname(),
            "harness": str(os.getpid()),
        }
        if secret.read_text() != SECRET or len(os.listdir(folder)) != 2:
            raise AssertionError("a candidate touched the harness's files")


def _entries(place: str) -> list[str]:
    try:
        return os.listdir(place)
    except OSError:
        return []


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--pretend", action="append", default=[])
    parser.add_argument("--classes")
    parser.add_argument("--every", type=int, default=1, help="only each so many-th attack")
    parser.add_argument("--honest-every", type=int, default=1, help="attacks between two honest programs")
    options = parser.parse_args(arguments)
    attacks = [attack for path in options.lists for attack in read_list(path)]
    if options.classes:
        attacks = [a for a in attacks if a.get("class", a.get("cls")) in options.classes.split(",")]
    attacks = attacks[:: options.every]
    tier, found = problems(attacks, pretend=options.pretend, honest_every=options.honest_every)
    print(json.dumps({"tier": tier, "count": len(attacks), "problems": found}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
