"""Every attack must fail, every honest program must pass, and the sandbox must be the same afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.sandbox.attack_list import LIMITS, is_open, problems, program_of, read_list, targets

import assay
from assay.sandbox.judge import judge, plan_of
from assay.sandbox.tiers import empty_plan
from assay.sandbox.zygote import Zygote

HERE = Path(__file__).parent
OURS = HERE / "attacks.jsonl"
VERDICT = HERE / "verdict_attacks.jsonl"
"""Programs that want to be judged otherwise than they deserve, or not at all; and honest ones that come near a rule."""
SHARED_DATA = Path(os.environ.get("ASSAY_SHARED_DATA", HERE.parents[2] / "shared" / "data"))
UNUSED_UID = 54_321
"""An unprivileged user that owns nothing."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

SOME = 6
"""The verdict is spoken by the same two processes whatever confines them: elsewhere one in so many of its attacks, and
one honest program after so many attacks, are enough. On a poorer host and as another user the suite tries one in so
many of all attacks, each host others; `make prove` tries all."""
REACHING_OUT = ("files", "metadata", "secrets", "network", "processes", "syscalls")
CONFINED = (*REACHING_OUT, "bombs")
"""What the layers of a host stop; the rest is between the candidate and the verifier."""


def test_the_list_has_every_class() -> None:
    classes = {attack["class"] for attack in read_list(OURS)}
    assert classes >= {"control", "forging", "protocol", "broken", "bombs", *REACHING_OUT}
    assert len({attack["name"] for attack in read_list(OURS)}) == len(read_list(OURS)) >= 100


def test_the_verdict_is_attacked_in_many_ways() -> None:
    attacks = read_list(VERDICT)
    assert len({attack["name"] for attack in attacks}) == len(attacks)
    assert sum(attack["class"] == "verdict" for attack in attacks) >= 200


@pytest.mark.timeout(900)
@pytest.mark.parametrize("attacks", [OURS, VERDICT], ids=lambda path: path.stem)
def test_every_attack_fails_in_the_full_tier(attacks: Path) -> None:
    tier, found = problems(read_list(attacks))
    assert found == []
    assert tier in ("A", "B", "C")


def test_every_shared_attack_fails_too() -> None:
    path = SHARED_DATA / "sandbox-attacks.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    found = problems(read_list(path))[1]
    # a test that never names the candidate proves nothing, whoever it is run with: it is refused before anybody runs
    assert [each for each in found if "the tests never use a name of the candidate" not in each] == []


POORER_HOSTS = [(("old_kernel", "no_landlock"), "C"), (("container",), "B"), (("container", "no_landlock"), "D")]


@pytest.mark.parametrize("number", range(len(POORER_HOSTS)), ids=["+".join(pretend) for pretend, _ in POORER_HOSTS])
def test_attacks_fail_on_a_poorer_host_each_host_with_others(number: int) -> None:
    expect_no_problem_on_a_poorer_host(*POORER_HOSTS[number], attacks_on_a_host()[number::SOME])


@pytest.mark.prove
@pytest.mark.parametrize(("pretend", "tier"), POORER_HOSTS, ids=["+".join(pretend) for pretend, _ in POORER_HOSTS])
def test_every_attack_fails_on_a_poorer_host(pretend: tuple[str, ...], tier: str) -> None:
    expect_no_problem_on_a_poorer_host(pretend, tier, attacks_on_a_host())


def attacks_on_a_host() -> list[dict[str, Any]]:
    others = [attack for attack in read_list(OURS) if attack["class"] not in CONFINED]
    attacks = [attack for attack in read_list(OURS) if attack["class"] in CONFINED]
    return [*attacks, *others[::SOME], *read_list(VERDICT)[::SOME]]


def expect_no_problem_on_a_poorer_host(pretend: tuple[str, ...], tier: str, attacks: list[dict[str, Any]]) -> None:
    found_tier, found = problems(attacks, pretend=pretend, min_tier="D", honest_every=SOME)
    assert found == []
    if os.getuid() == 0:
        assert found_tier == tier


UNPRIVILEGED = [("", OURS), ("", VERDICT), ("unmappable", OURS)]
UNPRIVILEGED_NAMES = ["attacks", "verdict", "unmappable"]


@pytest.mark.parametrize(("pretend", "attacks"), UNPRIVILEGED, ids=UNPRIVILEGED_NAMES)
def test_some_attacks_do_not_succeed_as_an_unprivileged_user(pretend: str, attacks: Path, public_copy: Path) -> None:
    expect_no_problem_as_nobody(pretend, attacks, public_copy, every=SOME)


@pytest.mark.prove
@pytest.mark.parametrize(("pretend", "attacks"), UNPRIVILEGED, ids=UNPRIVILEGED_NAMES)
def test_no_attack_succeeds_as_an_unprivileged_user(pretend: str, attacks: Path, public_copy: Path) -> None:
    expect_no_problem_as_nobody(pretend, attacks, public_copy, every=1)


def expect_no_problem_as_nobody(pretend: str, attacks: Path, public_copy: Path, *, every: int) -> None:
    python = an_interpreter_anybody_can_run(public_copy)
    command = [python, "-B", str(public_copy / "attack_list.py"), str(public_copy / attacks.name)]
    command += ["--honest-every", str(SOME), "--every", str(every)]
    if pretend:
        command += ["--pretend", pretend, "--classes", ",".join(REACHING_OUT)]
    done = as_nobody(command, public_copy)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert told["problems"] == []
    assert told["tier"] == "B" if pretend else told["tier"] in ("A", "B", "C")


SAFE_TO_LET_THROUGH = (
    "read a secret of the harness",
    "the size of a host file",
    "connect to a port of the harness",
    "a unix socket of the host",
    "run a command",
    "fork",
    "a new session",
    "signal the parent",
    "memfd_create",
)


def test_the_attacks_are_real_where_no_layer_is_on() -> None:
    attacks = {attack["name"]: attack for attack in read_list(OURS)}
    inward, outward = os.pipe()
    zygote = Zygote(empty_plan())
    try:
        with targets() as words:
            for name in SAFE_TO_LET_THROUGH:
                program = program_of(attacks[name], words)
                outcome = judge(program, plan_of(program), LIMITS, zygote, inward)
                assert is_open(outcome), (name, outcome)
    finally:
        zygote.close()
        os.close(inward)
        os.close(outward)


@pytest.fixture
def public_copy() -> Iterator[Path]:
    """The package, msgspec and the list in one folder that another user may enter."""
    if os.getuid() != 0:
        pytest.skip("already an unprivileged user: the other tests are this one")
    with tempfile.TemporaryDirectory(prefix="unprivileged-") as folder:
        yield filled(Path(folder))


def filled(folder: Path) -> Path:
    shutil.copytree(Path(assay.__file__).parent, folder / "assay", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(msgspec.__file__).parent, folder / "msgspec", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "attack_list.py", folder)
    shutil.copy(OURS, folder)
    shutil.copy(VERDICT, folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def an_interpreter_anybody_can_run(folder: Path) -> str:
    """This interpreter, or the system's of the same version where this one lies in root's private home."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    for python in (own, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if os.path.exists(python) and as_nobody([python, "-c", "import msgspec"], folder).returncode == 0:
            return python
    pytest.skip(f"no {version} that an unprivileged user may run")


def as_nobody(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    try:
        return subprocess.run(
            command,
            user=UNUSED_UID,
            group=UNUSED_UID,
            extra_groups=[],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=600,
        )
    except PermissionError as error:
        return subprocess.CompletedProcess(command, 126, "", str(error))
