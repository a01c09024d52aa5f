"""A cgroup for each zygote, where the host lets us create one: a second line of defence for memory and tasks.

The resource limits of a process come first. They do not count memory that the kernel uses for a process, and root is
exempt from the limit on tasks; a cgroup has neither gap. We write only into cgroups that we created, with one
exception: at the root of the hierarchy we enable the two controllers if they are off. Our own process stays in its
cgroup, so ours are created next to it: a cgroup that contains processes can have no limited children.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
import time
from pathlib import Path

CONTROLLERS = ("memory", "pids")
MAX_TASKS = 272
"""For a zygote with its candidate and its verifier, each of which may have 128 by its own limit."""
SPARE_MB = 128
"""For the zygote and the kernel, in addition to what a candidate and a verifier may use together."""

_OURS = re.compile(r"assay-(\d+)-\d+")
_numbers = itertools.count()


class CgroupRefusedError(Exception):
    """Why there is no cgroup here."""


class CgroupParent:
    """A folder of the cgroup hierarchy in which cgroups with limits can be created."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def enter(self, pid: int) -> Cgroup:
        """Create a cgroup and move the process into it; processes it starts from now on are in it, too."""
        path = self.folder / f"assay-{os.getpid()}-{next(_numbers)}"
        try:
            path.mkdir()
        except OSError as error:
            raise _refused(f"no cgroup can be created in {self.folder}", error) from None
        cgroup = Cgroup(path)
        try:
            cgroup.set_up(pid)
        except OSError as error:
            cgroup.remove()
            raise _refused(f"a cgroup in {self.folder} cannot be used", error) from None
        return cgroup

    def remove_stale(self) -> None:
        """Remove empty cgroups of harnesses that were killed; the kernel keeps one that contains a process."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                match = _OURS.fullmatch(path.name)
                if match and not _is_alive(int(match[1])):
                    with contextlib.suppress(OSError):
                        path.rmdir()


class Cgroup:
    """The cgroup of one zygote and its children."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._memory_mb: int | None = None
        self._killed = 0

    def set_up(self, pid: int) -> None:
        self._write("pids.max", str(MAX_TASKS))
        with contextlib.suppress(FileNotFoundError):  # a kernel without swap accounting
            self._write("memory.swap.max", "0")
        self._write("cgroup.procs", str(pid))

    def allow(self, memory_mb: int) -> None:
        """Set the memory limit for a candidate and a verifier of this size."""
        if memory_mb != self._memory_mb:
            self._write("memory.max", str(room_mb(memory_mb) << 20))
            self._memory_mb = memory_mb

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed a process in it for lack of memory since the last call."""
        before, self._killed = self._killed, self._event("memory.events", "oom_kill")
        return self._killed > before

    def is_full(self) -> bool:
        """Whether there is no room for another task."""
        try:
            return int((self.path / "pids.current").read_text()) >= MAX_TASKS
        except (OSError, ValueError):
            return False

    def remove(self) -> None:
        """Kill what is left in it, and remove it. If it cannot be removed, the next start removes it."""
        with contextlib.suppress(OSError):  # before Linux 5.14 there is no such file; ending the zygote is enough
            self._write("cgroup.kill", "1")
        for _ in range(100):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)  # the last process is still ending
            else:
                return

    def _event(self, file: str, name: str) -> int:
        try:
            lines = (self.path / file).read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)

    def _write(self, file: str, text: str) -> None:
        # no O_CREAT: only the kernel creates files here
        descriptor = os.open(self.path / file, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def room_mb(memory_mb: int) -> int:
    """How much a zygote and its children may use when each child may use this much."""
    return 2 * memory_mb + SPARE_MB


def find_place(proc: Path = Path("/proc/self")) -> CgroupParent:
    """Where this process may create cgroups with limits on memory and tasks; `CgroupRefusedError` if it may not."""
    if not sys.platform.startswith("linux"):
        raise CgroupRefusedError("cgroups are Linux only")
    mount, own = _own_cgroup(proc)
    missing = [name for name in CONTROLLERS if name not in _words(own / "cgroup.controllers")]
    if missing:
        raise CgroupRefusedError(f"{' and '.join(missing)}: not a controller of cgroup v2 here (version 1 has it)")
    is_root = not (own / "cgroup.events").exists()  # only the root of the whole hierarchy has none
    place = CgroupParent(own if is_root else _beside(own, mount))
    _enable(place.folder)
    place.remove_stale()
    return place


def _own_cgroup(proc: Path) -> tuple[Path, Path]:
    """(where cgroup v2 is mounted, the folder of this process's cgroup there)."""
    try:
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines() if " - cgroup2 " in line]
        paths = [line[3:] for line in (proc / "cgroup").read_text().splitlines() if line.startswith("0::")]
    except OSError as error:
        raise _refused("the cgroups of this process cannot be read", error) from None
    if not mounts or not paths:
        raise CgroupRefusedError("cgroup v2 is not mounted")
    top, mount = mounts[0][3], Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mounts[0][4]))
    below = os.path.relpath(paths[0], top)
    if ".." in Path(paths[0]).parts or below.startswith(".."):
        raise CgroupRefusedError("the cgroup of this process is outside of the mounted hierarchy")
    return mount, mount / below


def _beside(own: Path, mount: Path) -> Path:
    if own == mount:
        raise CgroupRefusedError("this process is in the topmost cgroup it can see, as in a container")
    limits = {name: _words(own / name) for name in ("memory.max", "memory.high")}
    for name, limit in limits.items():
        if limit not in ([], ["max"]):
            raise CgroupRefusedError(f"{own}: has its own {name}, which candidates must not escape")
    return own.parent


def _enable(folder: Path) -> None:
    """Enable the controllers for the children of a folder: usually they are; at the root we may enable them."""
    missing = [name for name in CONTROLLERS if name not in _words(folder / "cgroup.subtree_control")]
    if not missing:
        return
    if (folder / "cgroup.events").exists():
        raise CgroupRefusedError(f"{folder}: {' and '.join(missing)} not enabled for its children")
    try:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in missing))
    except OSError as error:
        raise _refused(f"{folder}: {' and '.join(missing)} cannot be enabled", error) from None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it exists, but is another user's
    return True


def _refused(problem: str, error: OSError) -> CgroupRefusedError:
    return CgroupRefusedError(f"{problem}: {error.strerror or error}")
