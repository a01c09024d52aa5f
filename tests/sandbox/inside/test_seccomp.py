"""The system call filter, run through a small interpreter of its instructions: also for machines we do not have."""

from __future__ import annotations

import struct
from collections import Counter

import pytest

from assay.sandbox.inside import seccomp

MACHINES = ("x86_64", "aarch64")
TABLES = (seccomp.ALLOWED, seccomp.REFUSED, seccomp.DEADLY, seccomp.CONDITIONAL)
NUMBERS = {
    machine: {name: number for table in TABLES for name, number in seccomp._numbers(table, machine).items()}
    for machine in MACHINES
}
PID = 4321


def answer(machine: str, call: str | int, *arguments: int, opens: str = "any", arch: int | None = None) -> str:
    """What the filter says to a call: allow, kill, or the name of an errno."""
    number = call if isinstance(call, int) else NUMBERS[machine][call]
    program = seccomp._patch(seccomp.build(machine, opens), PID)
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    masked = [value & (1 << 64) - 1 for value in padded]
    data = struct.pack("<IIQ6Q", number, arch or seccomp.AUDIT_ARCH[machine], 0, *masked)
    result = interpret(program, data)
    names = {seccomp.ALLOW: "allow", seccomp.KILL_PROCESS: "kill"}
    errnos = {seccomp.EPERM: "EPERM", seccomp.EINVAL: "EINVAL", seccomp.ENOSYS: "ENOSYS", seccomp.ENOTTY: "ENOTTY"}
    return names.get(result) or errnos[result & 0xFFFF]


def interpret(program: bytes, data: bytes) -> int:
    at, accumulator = 0, 0
    while True:
        code, when_true, when_false, operand = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return int(operand)
        elif code == 0x05:
            at += operand
        else:
            held = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}[code]
            at += when_true if held else when_false


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_is_claimed_twice(machine: str) -> None:
    counts = Counter(number for table in TABLES for number in seccomp._numbers(table, machine).values())
    assert [number for number, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("machine", MACHINES)
def test_every_named_call_gets_the_answer_of_its_table(machine: str) -> None:
    for table, expected in ((seccomp.ALLOWED, "allow"), (seccomp.REFUSED, "EPERM"), (seccomp.DEADLY, "kill")):
        for name in table.split()[::2]:
            if name in NUMBERS[machine]:
                assert answer(machine, name) == expected, name


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_not_named_does_not_exist(machine: str) -> None:
    named = set(NUMBERS[machine].values())
    for number in range(600):
        if number not in named:
            assert answer(machine, number) == "ENOSYS", number


CONDITIONS = [
    ("clone", (0x3D0F00,), "allow"),  # what glibc asks for a thread
    ("clone", (0x11,), "EPERM"),  # fork
    ("clone", (0x4111,), "EPERM"),  # vfork
    ("clone", (0x3D0F00 | 0x10000000,), "EPERM"),
    ("clone", (0x3D0F00 | 0x1000,), "EPERM"),  # a pidfd of the thread
    ("clone", (0x3D0F00 | 0x2000,), "EPERM"),  # traced like its creator
    ("madvise", (0, 4096, 4), "allow"),  # libc returns memory of a thread's stack
    ("madvise", (0, 4096, 12), "EINVAL"),  # merge pages
    ("madvise", (0, 4096, 21), "EINVAL"),  # push pages out
    ("clock_gettime", (1,), "allow"),
    ("clock_gettime", (2,), "allow"),  # one's own CPU time
    ("clock_gettime", ((~PID << 3) | 2,), "EPERM"),  # that of a process
    ("kill", (PID, 9), "allow"),
    ("kill", (PID + 1, 9), "EPERM"),
    ("kill", (-1, 9), "EPERM"),
    ("kill", (0, 9), "EPERM"),
    ("tgkill", (PID, PID, 6), "allow"),
    ("tgkill", (1, 1, 9), "EPERM"),
    ("prlimit64", (0,), "allow"),
    ("prlimit64", (PID,), "allow"),
    ("prlimit64", (1,), "EPERM"),
    ("socketpair", (1,), "allow"),
    ("socketpair", (2,), "EPERM"),
    ("sendto", (3, 0, 0, 0, 0), "allow"),
    ("sendto", (3, 0, 0, 0, 0x1000), "EPERM"),
    ("sendto", (3, 0, 0, 0, 0x7000_0000_0000_0000), "EPERM"),
    ("getsockopt", (3, 1, 3), "allow"),
    ("getsockopt", (3, 1, 77), "EPERM"),
    ("getsockopt", (3, 6, 3), "EPERM"),
    ("ioctl", (0, 0x5401), "allow"),
    ("ioctl", (0, 0x5412), "ENOTTY"),
    ("fcntl", (0, 1), "allow"),
    ("fcntl", (0, 8), "EPERM"),
    ("prctl", (15,), "allow"),
    ("prctl", (22,), "EPERM"),
    ("openat", (0, 0, 0o100001), "allow"),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("call", "arguments", "expected"), CONDITIONS)
def test_some_calls_depend_on_their_arguments(
    machine: str, call: str, arguments: tuple[int, ...], expected: str
) -> None:
    assert answer(machine, call, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_opens_without_landlock_are_for_reading_or_not_at_all(machine: str) -> None:
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o2000, 0o20000000):
        assert answer(machine, "openat", 0, 0, flags, opens="read") == "EPERM"
    assert answer(machine, "openat", 0, 0, 0o2000000, opens="read") == "allow"
    assert answer(machine, "openat", 0, 0, 0, opens="none") == "EPERM"


def test_another_architecture_is_deadly() -> None:
    assert answer("x86_64", "read", arch=0x40000003) == "kill"  # i386
    assert answer("x86_64", 0x40000000 + 39) == "kill"  # x32
    assert answer("aarch64", "read", arch=0x40000028) == "kill"  # 32-bit arm


def test_a_poor_host_is_made_by_refusing_calls() -> None:
    program = seccomp.refuse_calls("x86_64", {"unshare": 1, "landlock_create_ruleset": 38})

    def ask(number: int, first: int = 0) -> int:
        return interpret(program, struct.pack("<IIQ6Q", number, 0, 0, first, 0, 0, 0, 0, 0))

    assert ask(272) == 0x00050001
    assert ask(444) == 0x00050026
    assert ask(0) == seccomp.ALLOW
    assert ask(56, 0x10000000) == 0x00050001
    assert ask(56, 0x11) == seccomp.ALLOW
