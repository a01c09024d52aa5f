"""Nothing that one candidate does can be seen by the next one of the same zygote."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from assay.sandbox import IoPairs, Limits, Sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

CHANNELS = {
    # descriptors: what fork shares is the open file behind them, with its flags and its position
    "flags of standard input": ("fcntl.fcntl(0, 4, os.O_APPEND | os.O_NONBLOCK)", "fcntl.fcntl(0, 3)"),
    "flags of standard input, by ioctl": ("fcntl.ioctl(0, 0x5421, b'\\1\\0\\0\\0')", "os.get_blocking(0)"),
    "flags of standard output": ("fcntl.fcntl(1, 4, os.O_APPEND | os.O_NONBLOCK)", "fcntl.fcntl(1, 3)"),
    "flags of standard error": ("fcntl.fcntl(2, 4, os.O_APPEND | os.O_NONBLOCK)", "fcntl.fcntl(2, 3)"),
    "flags of the requests": ("fcntl.fcntl(3, 4, os.O_APPEND)", "fcntl.fcntl(3, 3)"),
    "flags of the replies": ("fcntl.fcntl(4, 4, os.O_APPEND)", "fcntl.fcntl(4, 3)"),
    "position of standard input": ("os.lseek(0, 7, 0)", "os.lseek(0, 0, 1)"),
    "owner of standard input": ("fcntl.fcntl(0, 8, os.getpid())", "fcntl.fcntl(0, 9)"),
    "signal of standard input": ("fcntl.fcntl(0, 10, 12)", "fcntl.fcntl(0, 11)"),
    "size of the output pipe": ("fcntl.fcntl(1, 1031, 1 << 20)", "fcntl.fcntl(1, 1032)"),
    "lock on standard input": ("fcntl.flock(0, 6)", "fcntl.flock(0, 6)"),
    "record lock on standard input": ("fcntl.lockf(0, 5)", "fcntl.lockf(0, 5)"),
    "lease on a file": ("fcntl.fcntl(os.open(os.__file__, 0), 1024, 0)", "fcntl.fcntl(os.open(os.__file__, 0), 1025)"),
    "open descriptors": ("[os.dup(0) for _ in range(9)]", "[n for n in range(64) if is_open(n)]"),
    # files
    "a file in /tmp": ("open('/tmp/assay-state', 'w')", "open('/tmp/assay-state')"),
    "a file in /var/tmp": ("open('/var/tmp/assay-state', 'w')", "open('/var/tmp/assay-state')"),
    "a file in /dev/shm": ("open('/dev/shm/assay-state', 'w')", "open('/dev/shm/assay-state')"),
    "a file where the program stands": ("open('assay-state', 'w')", "open('assay-state')"),
    "a file of the standard library": ("open(os.__file__ + 'x', 'w')", "open(os.__file__ + 'x')"),
    "times of a file": ("os.utime(os.__file__, (1, 1))", "os.stat(os.__file__).st_mtime_ns"),
    "mode of a device": ("os.chmod('/dev/null', 0o600)", "os.stat('/dev/null').st_mode"),
    "attributes of a device": ("os.setxattr('/dev/null', 'user.x', b'1')", "os.getxattr('/dev/null', 'user.x')"),
    "times of a device": ("open('/dev/null').read()", "[os.stat('/dev/null').st_atime_ns, os.fstat(0).st_atime_ns]"),
    "contents of a device": ("open('/dev/zero', 'wb').write(b'x')", "open('/dev/zero', 'rb').read(4)"),
    # what the kernel keeps by name or number
    "shared memory": ("libc.shmget(0x5EED, 4096, 0o1666)", "libc.shmget(0x5EED, 4096, 0)"),
    "semaphores": ("libc.semget(0x5EED, 1, 0o1666)", "libc.semget(0x5EED, 1, 0)"),
    "messages": ("libc.msgget(0x5EED, 0o1666)", "libc.msgget(0x5EED, 0)"),
    "message queues": ("libc.mq_open(b'/assay', 0o102, 0o666, None)", "libc.mq_open(b'/assay', 0)"),
    "a socket by name": ("bound.append(listening())", "connected()"),
    "shared anonymous memory": ("mmap.mmap(-1, 4096).write(b'x')", "bytes(mmap.mmap(-1, 4096)[:4])"),
    "memory with a name": ("os.memfd_create('assay')", "os.memfd_create('assay')"),
    # the process, its parent and their group
    "priority": ("os.setpriority(0, 0, 7)", "os.getpriority(0, 0)"),
    "priority of the parent": ("os.setpriority(0, os.getppid(), 7)", "os.getpriority(0, os.getppid())"),
    "priority of the group": ("os.setpriority(1, 0, 7)", "os.getpriority(1, 0)"),
    "processors": ("os.sched_setaffinity(0, {0})", "sorted(os.sched_getaffinity(0))"),
    "processors of the parent": (
        "os.sched_setaffinity(os.getppid(), {0})",
        "sorted(os.sched_getaffinity(os.getppid()))",
    ),
    "scheduling": ("os.sched_setscheduler(0, 3, os.sched_param(0))", "os.sched_getscheduler(0)"),
    "limits": ("resource.setrlimit(7, (9, 9))", "[resource.getrlimit(n) for n in range(16)]"),
    "limits of the parent": ("resource.prlimit(os.getppid(), 7, (9, 9))", "resource.prlimit(os.getppid(), 7)"),
    "process group": ("os.setpgid(0, 0)", "[os.getpgid(0), os.getsid(0)]"),
    "session": ("os.setsid()", "os.getsid(0)"),
    "signals for the parent": ("os.kill(os.getppid(), 17)", "sorted(signal.sigpending())"),
    "blocked signals": ("signal.pthread_sigmask(0, {10, 12})", "sorted(signal.pthread_sigmask(0, ()))"),
    "handlers": ("signal.signal(10, signal.SIG_IGN)", "[str(signal.getsignal(n)) for n in range(1, 32)]"),
    "alarms": ("signal.setitimer(0, 900)", "signal.getitimer(0)"),
    "name of the process": ("libc.prctl(15, b'planted')", "name_of_process()"),
    "timer slack": ("libc.prctl(29, 77)", "libc.prctl(30)"),
    "reaper of orphans": ("libc.prctl(36, 1)", "libc.prctl(37, 0)"),
    "execution domain": ("libc.personality(0x0040000)", "libc.personality(0xFFFFFFFF)"),
    "choice for want of memory": (
        "open('/proc/self/oom_score_adj', 'w').write('900')",
        "open('/proc/self/oom_score_adj')",
    ),
    "the same of the parent": (
        "open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('900')",
        "open(f'/proc/{os.getppid()}/oom_score_adj').read()",
    ),
    "threads": ("threading.Thread(target=time.sleep, args=(900,), daemon=True).start()", "threading.active_count()"),
    "children": ("os.fork() or os._exit(0)", "os.wait3(1)"),
    "mode mask": ("os.umask(0o77)", "os.umask(0o22)"),
    "folder": ("os.chdir('/usr')", "os.getcwd()"),
    "hostname": ("socket.sethostname('planted')", "socket.gethostname()"),
    # the interpreter that was forked
    "environment": ("os.environ.update(PLANTED='1')", "sorted(os.environ)"),
    "modules": ("sys.modules.update(planted=sys)", "'planted' in sys.modules"),
    "builtins": ("setattr(builtins, 'planted', 1)", "hasattr(builtins, 'planted')"),
    "our own modules": ("setattr(ours('zygote'), 'planted', 1)", "hasattr(ours('zygote'), 'planted')"),
    "random numbers": ("random.seed(5)", "random.random()"),
    "depth of calls": ("sys.setrecursionlimit(777)", "sys.getrecursionlimit()"),
    "rounding": ("decimal.getcontext().__setattr__('prec', 3)", "decimal.getcontext().prec"),
    "language": ("locale.setlocale(6, 'C')", "locale.setlocale(6)"),
    "warnings": ("warnings.simplefilter('error')", "len(warnings.filters)"),
    "exit handlers": ("atexit.register(print, 'planted')", "atexit._ncallbacks()"),
    "source lines": ("linecache.cache.update(planted=())", "'planted' in linecache.cache"),
    "time zone": ("os.environ.update(TZ='Asia/Tokyo') or time.tzset()", "time.tzname"),
}
"""How one program would plant something, and how the next would find it."""

HELPERS = """
import atexit, builtins, ctypes, decimal, fcntl, json, linecache, locale, mmap, os, random, resource, signal, socket
import sys, threading, time, warnings
libc = ctypes.CDLL(None, use_errno=True)
bound = []
def is_open(n):
    try: os.fstat(n)
    except OSError: return False
    return True
def listening():
    server = socket.socket(socket.AF_UNIX)
    server.bind(chr(0) + 'assay-state')
    server.listen()
    return server
def connected():
    socket.socket(socket.AF_UNIX).connect(chr(0) + 'assay-state')
def name_of_process():
    name = ctypes.create_string_buffer(17)
    libc.prctl(16, name)
    return name.value.decode()
def ours(name): return sys.modules['_assay_inside.' + name]
def tried(action):
    try: return repr(eval(action))[:150]
    except BaseException as error: return type(error).__name__
"""

PLANT = HELPERS + f"\nfor action in {[plant for plant, _ in CHANNELS.values()]!r}: tried(action)\ndef f(x): return x"
LOOK = HELPERS + (
    f"\nprint(json.dumps([tried(look) for look in {[look for _, look in CHANNELS.values()]!r}]))\ndef f(x): return x"
)
ROOMY = Limits(cpu_seconds=20)


@pytest.mark.parametrize(
    "pretend", [(), ("no_landlock",), ("container",)], ids=["full", "no Landlock", "no namespaces"]
)
def test_a_program_sees_nothing_of_the_one_before_it(pretend: tuple[str, ...]) -> None:
    async def use() -> tuple[dict[str, str], dict[str, str]]:
        async with Sandbox(workers=1, pretend=pretend) as sandbox:
            before = await look(sandbox)
            assert (await sandbox.run(IoPairs(code=PLANT, pairs=((1, 1),)), ROOMY)).outcome == "pass"
            return before, await look(sandbox)

    before, after = asyncio.run(use())
    assert len(before) == len(CHANNELS)
    assert {name: after[name] for name in after if after[name] != before[name]} == {}


async def look(sandbox: Sandbox) -> dict[str, str]:
    """What a fresh program finds in every channel; printed, because no expected value is known."""
    outcome = await sandbox.run(IoPairs(code=LOOK, pairs=((1, 1),)), ROOMY)
    return dict(zip(CHANNELS, json.loads(outcome.stdout), strict=True))


STATUS = 173 << 8
"""As the kernel tells it of a program that left with 173; far from every number that lies about anyway."""
DISGUISE = 0x5A5A5A

SEARCH = f"""
import ctypes, sys
def pools():
    'Every page of small objects that something known lies in, freed ones beside it.'
    known = set()
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            known |= {{id(name), id(value)}}
            for inner, thing in list(getattr(value, '__dict__', {{}}).items()):
                known |= {{id(inner), id(thing), id(getattr(thing, '__code__', None))}}
    return sorted({{address & ~0x3FFF for address in known if address > 0x7F0000000000}})
def f(disguised):
    integer, mask = id(int).to_bytes(8, 'little'), {DISGUISE}
    found = 0
    for pool in pools():
        data = ctypes.string_at(pool, 1 << 14)
        at = data.find(integer)
        while at >= 0:
            found += int.from_bytes(data[at + 16:at + 20], 'little') ^ mask == disguised
            at = data.find(integer, at + 8)
    return found
"""


def test_how_a_program_ended_is_not_in_the_memory_of_the_next() -> None:
    """Forked from a zygote that reaped it, the next program could read its status in what the zygote had freed."""

    async def use() -> str:
        async with Sandbox(workers=1) as sandbox:
            for _ in range(3):
                await sandbox.run(IoPairs(code="import os\ndef f(x): os._exit(173)", pairs=((1, 1),)))
            pairs = ((STATUS ^ DISGUISE, 0),)
            return (await sandbox.run(IoPairs(code=SEARCH, pairs=pairs), ROOMY)).checks[0].detail

    assert asyncio.run(use()) == ""


@pytest.mark.skipif(os.getuid() != 0, reason="the maps of a confined process are shown to root only")
def test_a_zygote_shares_no_memory_that_can_be_written() -> None:
    async def use() -> list[str]:
        async with Sandbox(workers=1, pretend=("container",)) as sandbox:
            zygote = sandbox._threads[0]._zygote
            assert zygote is not None
            maps = Path(f"/proc/{zygote._process.pid}/maps").read_text().splitlines()
            return [line for line in maps if "w" in line.split()[1] and "s" in line.split()[1]]

    assert asyncio.run(use()) == []
