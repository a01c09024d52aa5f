"""Harmless attacks on targets of our own, run in a new zygote: they show whether a layer holds, not what it returns."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator

from assay.sandbox.judge import judge, plan_of
from assay.sandbox.programs import IoPairs, Limits, Outcome
from assay.sandbox.tiers import Canary
from assay.sandbox.zygote import Zygote

_LIMITS = Limits(cpu_seconds=2, wall_seconds=10)

_PRELOADED = """
import collections, math
def f(x):
    return 'ok' if collections.Counter('aab')['a'] == math.isqrt(4) else 'failed'
"""
_ON_DEMAND = """
def f(x):
    import plistlib, wave, xml.dom.minidom
    return 'ok' if plistlib.loads(plistlib.dumps({'a': 1})) == {'a': 1} else 'failed'
"""

_ATTACKS = {
    "read a secret file": "open({secret!r}).read()",
    "connect to a port": "__import__('socket').create_connection(('127.0.0.1', {port}), 1)",
    "fork": "__import__('os').fork() or __import__('os')._exit(0)",
    "signal the parent": "__import__('os').kill(__import__('os').getppid(), 0)",
    "read the parent's environment": "open('/proc/%d/environ' % __import__('os').getppid(), 'rb').read()",
    "limit the parent": "__import__('resource').prlimit(__import__('os').getppid(), 7)",
    "write a file": "open({fresh!r}, 'w').write('x')",
    "connect to a unix socket": "__import__('socket').socket(__import__('socket').AF_UNIX).connect({unix!r})",
}


def run_canaries(zygote: Zygote, wake: int) -> tuple[Canary, ...]:
    """Run the controls and the attacks, one child each."""
    canaries = [_control(zygote, wake, "import a preloaded module", _PRELOADED)]
    if zygote.plan["opens"] != "none":
        canaries.append(_control(zygote, wake, "import a module on demand", _ON_DEMAND))
    if zygote.plan["name"] == "U":
        return tuple(canaries)
    with _targets() as targets:
        for name, attack in _ATTACKS.items():
            canaries.append(_attack(zygote, wake, name, attack.format(**targets)))
        if os.path.exists(str(targets["fresh"])):
            canaries.append(Canary(name="leave a file", expected="shut", found="open"))
    return tuple(canaries)


def _control(zygote: Zygote, wake: int, name: str, code: str) -> Canary:
    outcome = _judge(code, "ok", zygote, wake)
    detail = outcome.checks[0].detail
    result = "ok" if outcome.outcome == "pass" else f"{outcome.outcome}: {detail}"[:200]
    return Canary(name=name, expected="ok", found=result)


def _attack(zygote: Zygote, wake: int, name: str, expression: str) -> Canary:
    code = f"""
def f(x):
    try:
        {expression}
    except Exception:
        return 'shut'
    return 'open'
"""
    outcome = _judge(code, "shut", zygote, wake)
    shut = outcome.outcome in ("pass", "violation", "crash")
    return Canary(name=name, expected="shut", found="shut" if shut else "open")


def _judge(code: str, answer: str, zygote: Zygote, wake: int) -> Outcome:
    program = IoPairs(code=code, pairs=((1, answer),))
    return judge(program, plan_of(program), _LIMITS, zygote, wake)


@contextlib.contextmanager
def _targets() -> Iterator[dict[str, object]]:
    """A secret file, a listening port, a unix socket and a path to write to, removed afterwards."""
    folder = tempfile.mkdtemp(prefix="assay-canary-")
    try:
        os.chmod(folder, 0o777)  # noqa: S103 -- only the sandbox may keep the canary out
        secret = os.path.join(folder, "secret")
        with open(secret, "w") as file:
            file.write("secret")
        os.chmod(secret, 0o644)
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
            path = os.path.join(folder, "socket")
            unix.bind(path)
            unix.listen()
            os.chmod(path, 0o777)  # noqa: S103 -- as above
            yield {
                "secret": secret,
                "port": server.getsockname()[1],
                "fresh": os.path.join(folder, "fresh"),
                "unix": path,
            }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
