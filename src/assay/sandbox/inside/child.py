"""Sets up a child between fork and its first request: descriptors, limits, the last layers, fresh streams.

Every step must succeed: an exception here ends the child with a reserved status before any candidate code runs.
"""

from __future__ import annotations

import builtins
import ctypes
import ctypes.util
import fcntl
import os
import random
import resource
import signal
import sys
import types
from dataclasses import dataclass
from typing import Any, NoReturn

from . import candidate, frames, kernel, landlock, seccomp, verifier

SEED = 0
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSettings:
    """The settings of every child of this zygote, prepared once."""

    program: bytes
    """The system call filter with a placeholder for the pid; empty in tiers that have none."""
    landlock_abi: int
    max_tasks: int
    parent: int
    profile: str
    """The macOS sandbox profile; empty elsewhere."""


def run(request: dict[str, Any], descriptors: list[int], settings: ChildSettings) -> NoReturn:
    try:
        prepare(request, descriptors, settings)
        frames.send({"id": "ready"})
    except BaseException as error:
        report_and_die(error)
    serve_role(request["role"])


def serve_role(role: str) -> NoReturn:
    """Any exception ends the process: a child must never return into the zygote's loop."""
    status = 1
    try:
        if role == "candidate":
            candidate.Candidate().serve()
        else:
            verifier.serve()
    except BaseException as error:
        try:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
        except BaseException:
            status = 2
    os._exit(status)


def report_and_die(error: BaseException) -> NoReturn:
    try:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(frames.SETUP_FAILED)


def prepare(request: dict[str, Any], descriptors: list[int], settings: ChildSettings) -> None:
    place_descriptors(descriptors)
    limit_resources(request, settings.max_tasks)
    if kernel.LINUX:
        kernel.prctl("dumpable", kernel.PR_SET_DUMPABLE, 0)
        kernel.prctl("pdeathsig", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != settings.parent:
            raise RuntimeError("the zygote is gone")
    fresh_interpreter()
    landlock.isolate_domain(settings.landlock_abi)
    if settings.profile:
        enter_macos_profile(settings.profile)
    if settings.program:
        seccomp.install(settings.program, own_pid=os.getpid())


def place_descriptors(descriptors: list[int]) -> None:
    """Place standard input, output, error, requests and replies at 0 to 4, and close all other descriptors.

    A child without standard input opens the null device itself: an inherited descriptor would share its flags and
    position with all children.
    """
    wanted = descriptors if len(descriptors) == 5 else [os.open(os.devnull, os.O_RDONLY), *descriptors]
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in wanted]
    for place, descriptor in enumerate(high):
        os.dup2(descriptor, place)
    os.closerange(5, 4096)  # far above what a zygote, started with one descriptor, can have open


def limit_resources(request: dict[str, Any], max_tasks: int) -> None:
    memory = int(request["memory_mb"]) * MIB
    seconds = int(request["cpu_seconds"]) + 2
    limits = {
        "RLIMIT_AS": memory,
        "RLIMIT_CPU": seconds,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_STACK": 8 * MIB,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_SIGPENDING": 128,
        "RLIMIT_NPROC": max_tasks,
    }
    for name, value in limits.items():
        if hasattr(resource, name):
            set_limit(getattr(resource, name), value, optional=not kernel.LINUX)


def set_limit(which: int, value: int, optional: bool) -> None:
    try:
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        if not optional:  # macOS rejects the memory limits: the harness polls instead
            raise


def fresh_interpreter() -> None:
    """Set up what a program expects at its start, without anything of the zygote's own."""
    sys.stdin = stream(0, "r", "surrogateescape")
    sys.stdout = stream(1, "w", "surrogateescape")
    sys.stderr = stream(2, "w", "backslashreplace", buffering=1)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    candidate.STREAMS.update(stdout=sys.stdout, stderr=sys.stderr)
    builtins.exit = builtins.quit = leave  # type: ignore[assignment]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = [""]
    random.seed(SEED)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stream(descriptor: int, mode: str, errors: str, buffering: int = -1) -> Any:
    return open(descriptor, mode, buffering, encoding="utf-8", errors=errors, closefd=False)


def leave(code: object = None) -> NoReturn:
    """`exit()` and `quit()`, which an interpreter started without `site` lacks."""
    raise SystemExit(code)


def try_filter(settings: ChildSettings) -> None:
    """Install the filter in a temporary child, so that a kernel that rejects it is known before any candidate."""
    if not settings.program:
        return
    pid = os.fork()
    if pid == 0:
        try:
            landlock.isolate_domain(settings.landlock_abi)
            seccomp.install(settings.program, own_pid=os.getpid())
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise OSError(status, f"seccomp: {os.strerror(status)}")
    if status < 0:
        raise OSError(seccomp.ENOSYS, f"seccomp: the trial child died of signal {-status}")


def enter_macos_profile(profile: str) -> None:
    """Apply a Seatbelt profile to this process permanently (macOS only)."""
    library = ctypes.CDLL(ctypes.util.find_library("sandbox") or "/usr/lib/libsandbox.1.dylib")
    message = ctypes.c_char_p()
    if library.sandbox_init(profile.encode(), ctypes.c_uint64(0), ctypes.byref(message)) != 0:
        raise OSError(1, f"sandbox_init: {(message.value or b'').decode(errors='replace')}")
