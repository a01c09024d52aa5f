"""The zygote: preload, confine, then fork a child for every request; it never sees source, tests or answers.

It communicates with the harness over one socket: lines of JSON, with descriptors attached. When that socket closes, the
harness is gone, and the zygote ends with its children.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from . import child, confine, endings, imports, kernel, seccomp

PRELOAD = """
__future__ abc argparse array ast asyncio asyncio.base_events asyncio.runners base64 binascii bisect builtins calendar
cmath collections collections.abc colorsys concurrent.futures concurrent.futures.thread contextlib contextvars copy csv
ctypes dataclasses datetime decimal difflib enum fractions functools gc hashlib heapq html inspect io itertools json
keyword linecache locale lzma math numbers operator os os.path pathlib pickle platform pprint queue random re
reprlib secrets selectors shlex signal socket sqlite3 statistics string struct sys tempfile textwrap threading time
timeit token tokenize traceback types typing unicodedata unittest urllib.parse uuid warnings weakref zlib zoneinfo
encodings.idna encodings.latin_1 encodings.ascii bz2 copyreg graphlib hmac ipaddress
"""

NAMESPACE_CALLS = ("unshare", "mount", "umount2", "pivot_root", "mount_setattr", "setns")
LANDLOCK_CALLS = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


def main(control_number: int) -> NoReturn:
    control = socket.socket(fileno=control_number)
    control.set_inheritable(False)
    try:
        config = json.loads(control.recv(1 << 16))
        zygote = ForkServer(control, config)
        zygote.shut_in()
    except BaseException as error:
        tell(control, {"failed": f"{type(error).__name__}: {error}", "errno": getattr(error, "errno", None)})
        os._exit(3)
    zygote.serve()
    os._exit(0)


def tell(control: socket.socket, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    beside = []
    if descriptors:
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    control.sendmsg([json.dumps(message).encode() + b"\n"], beside)


class ForkServer:
    """A warm, confined interpreter whose only act is to fork."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self.control = control
        self.plan: dict[str, Any] = config["plan"]
        self.pretend: list[str] = config["pretend"]
        self.endings = endings.Endings(control.fileno())
        self.running: dict[int, int] = {}
        """Child pid -> its pidfd (-1 where the system has none)."""

    def shut_in(self) -> None:
        impoverish(self.pretend)
        preload()
        host = confine.Host()
        failing = "uid_map" if "unmappable" in self.pretend else None
        layers = confine.apply(self.plan, host, self.wait_outside, failing)
        self.settings = child.ChildSettings(
            program=self.filter(),
            landlock_abi=abi_of(layers),
            max_tasks=self.max_tasks(host),
            parent=os.getpid(),
            profile=self.plan.get("profile", ""),
        )
        child.try_filter(self.settings)
        if self.settings.program:
            layers["seccomp"] = "ok: allow-list"
        gc.collect()
        gc.freeze()
        tell(self.control, {"ready": layers, "python": sys.version.split()[0]})

    def wait_outside(self, inner: int) -> NoReturn:
        """The process outside the new namespaces: it only waits for pid 1, and exits with its status."""
        self.control.close()
        while True:
            try:
                _, status = os.waitpid(inner, 0)
            except InterruptedError:
                continue
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

    def filter(self) -> bytes:
        if not self.plan["seccomp"]:
            return b""
        if kernel.MACHINE not in seccomp.AUDIT_ARCH:
            raise OSError(seccomp.ENOSYS, f"no system call table for {kernel.MACHINE}")
        opens = "any" if self.plan["landlock"] else "read"
        return seccomp.build(kernel.MACHINE, "none" if self.plan["opens"] == "none" else opens)

    def max_tasks(self, host: confine.Host) -> int:
        """A small limit with a uid or user namespace of its own; otherwise some more than the user's current tasks."""
        own_uid = host.was_root and self.plan["uid"] == "drop"
        own_count = self.plan["namespaces"] and kernel.version() >= (5, 14)  # before, all namespaces shared one count
        return 128 if own_uid or own_count else host.tasks_of_user + 256

    def serve(self) -> None:
        if self.plan["namespaces"]:
            kernel.prctl("pdeathsig", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        self.waiting = select.poll()
        self.waiting.register(self.control, select.POLLIN)
        while True:
            patience = 20 if self.running and -1 in self.running.values() else None
            for descriptor, _ in self.waiting.poll(patience):
                if descriptor == self.control.fileno():
                    self.hear()
            self.reap()

    def hear(self) -> None:
        data, beside, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(5 * 4))
        if not data:
            os._exit(0)  # the harness is gone; the children end with pid 1 of the namespace, or by PDEATHSIG
        descriptors = array.array("i")
        for _, _, packed in beside:
            descriptors.frombytes(packed[: len(packed) - len(packed) % 4])
        for line in data.splitlines():
            message = json.loads(line)
            if "kill" in message:
                self.kill(message["kill"])
            else:
                self.spawn(message, list(descriptors))

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            close(descriptors)
            tell(self.control, {"refused": error.errno})
            return
        if pid == 0:
            child.run(request, descriptors, self.settings)
        pidfd = open_pidfd(pid)
        close(descriptors)
        self.running[pid] = pidfd
        if pidfd >= 0:
            self.waiting.register(pidfd, select.POLLIN)
        tell(self.control, {"spawned": pid}, [pidfd] if pidfd >= 0 else None)

    def kill(self, pid: int) -> None:
        """Only for systems without pidfds. A pid that we have not reaped cannot have been reused."""
        if pid in self.running:
            os.kill(pid, signal.SIGKILL)

    def reap(self) -> None:
        while self.running:
            pid = self.endings.next() if kernel.LINUX else self.reap_in_python()
            if pid <= 0:
                return
            pidfd = self.running.pop(pid, -1)
            if pidfd >= 0:
                self.waiting.unregister(pidfd)
                os.close(pidfd)

    def reap_in_python(self) -> int:
        """For systems where the kernel's records have another layout."""
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return -1
        if pid > 0:
            seconds = usage.ru_utime + usage.ru_stime
            tell(self.control, {"ended": pid, "status": status, "cpu_seconds": seconds})
        return pid


def close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def open_pidfd(pid: int) -> int:
    """-1 where the system has no pidfds (macOS, Linux before 5.3): the zygote itself then kills children."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def preload() -> None:
    for name in PRELOAD.split():
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # the interpreter was built without it, so its candidates lack it too
    imports.prepare()


def abi_of(layers: dict[str, str]) -> int:
    return int(layers["landlock"].rpartition(" ")[2]) if "landlock" in layers else 0


def impoverish(pretend: list[str]) -> None:
    """Remove features from this process before anything is tried: tests simulate a limited host with it."""
    refused: dict[str, int] = {}
    if "container" in pretend:
        refused |= dict.fromkeys(NAMESPACE_CALLS, seccomp.EPERM) | {"clone3": seccomp.ENOSYS}
    if "no_landlock" in pretend:
        refused |= dict.fromkeys(LANDLOCK_CALLS, seccomp.ENOSYS)
    if "old_kernel" in pretend:
        refused |= dict.fromkeys(("mount_setattr", "pidfd_open", "close_range", "clone3"), seccomp.ENOSYS)
    if "no_seccomp" in pretend:
        refused |= {"seccomp": 22}
    if refused:
        kernel.prctl("no_new_privs", kernel.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.install(seccomp.refuse_calls(kernel.MACHINE, refused))
