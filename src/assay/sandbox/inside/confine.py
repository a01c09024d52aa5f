"""The layers with which the zygote confines itself; their order in `apply` matters."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from typing import Any

from . import kernel, landlock

HOSTNAME = "sandbox"
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
ZONEINFO = "/usr/share/zoneinfo"
LOADER_CACHE = "/etc/ld.so.cache"
INSIDE_UID = 65534
PACKAGES = ("site-packages", "dist-packages")
"""Installed packages may contain benchmarks with their answers, so they are hidden from candidates."""

_SET_RDONLY_NOSUID = kernel.MS_RDONLY | kernel.MS_NOSUID
_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWCGROUP
)


class Host:
    """Paths and numbers of the host, looked up before confinement."""

    def __init__(self) -> None:
        self.stdlib = _stdlib_folders()
        self.libraries = sorted(set(_library_paths(self.stdlib)))
        self.tasks_of_user = _tasks_of(os.getuid())
        self.pid = os.getpid()
        self.was_root = os.getuid() == 0


def apply(plan: dict[str, Any], host: Host, leave_outer: Callable[[int], None], failing: str | None) -> dict[str, str]:
    """Apply the layers of a plan and return the result of each. An OSError ends the attempt; tests set `failing`."""
    layers: dict[str, str] = {}
    if plan["namespaces"]:
        _enter_namespaces(host.was_root, leave_outer, failing)
        layers["namespaces"] = "ok"
        _make_private_root(host)
        layers["private_root"] = "ok"
    if host.was_root:
        layers["uid"] = _drop_root(plan["uid"], host.pid)
    elif plan["namespaces"]:
        kernel.drop_capabilities()
        layers["uid"] = "ok: user namespace, no capabilities"
    else:
        layers["uid"] = "the user's own"
    if kernel.LINUX:
        kernel.prctl("no_new_privs", kernel.PR_SET_NO_NEW_PRIVS, 1)
    if plan["landlock"]:
        layers["landlock"] = f"ok: ABI {landlock.restrict(_grants(host))}"
    if kernel.LINUX:
        kernel.prctl("dumpable", kernel.PR_SET_DUMPABLE, 0)
    os.environ.clear()
    return layers


def _enter_namespaces(was_root: bool, leave_outer: Callable[[int], None], failing: str | None) -> None:
    """Enter new namespaces and fork once: the child is pid 1 in them, the outer process only waits."""
    uid, gid = os.getuid(), os.getgid()
    if was_root:
        kernel.unshare(_NAMESPACES)
    else:
        kernel.unshare(_NAMESPACES | kernel.CLONE_NEWUSER)
        if failing == "uid_map":
            raise PermissionError(1, "uid_map: Operation not permitted")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{INSIDE_UID} {uid} 1")
        _write("/proc/self/gid_map", f"{INSIDE_UID} {gid} 1")
    kernel.set_hostname(HOSTNAME)
    child = os.fork()
    if child:
        leave_outer(child)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from None


def _make_private_root(host: Host) -> None:
    """Make a private root with the stdlib, the shared libraries and four devices, all read-only."""
    sources = [*host.stdlib, *host.libraries, LOADER_CACHE, ZONEINFO]
    sources = [path for path in sources if os.path.exists(path)]
    stage = _empty_stage(sources)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", stage, "tmpfs", flags, "size=256k,nr_inodes=512,mode=755")
    for path in sources:
        _bind(path, stage + path)
        kernel.restrict_mount(stage + path, _SET_RDONLY_NOSUID | kernel.MS_NODEV)
    for device in DEVICES:
        if os.path.exists(device):
            _bind(device, stage + device)
            kernel.restrict_mount(stage + device, _SET_RDONLY_NOSUID)
    _hide_packages(host, stage)
    _copy_root_links(stage)
    os.chdir(stage)
    kernel.pivot_root_here()
    kernel.umount_lazily(".")
    os.chdir("/")
    kernel.mount("none", "/", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | flags)


def _empty_stage(sources: list[str]) -> str:
    """A directory to build the root on that contains nothing we still need to bind."""
    for folder in ("/mnt", "/media", "/srv", "/tmp", "/var/tmp", "/run", "/opt", "/home"):  # noqa: S108 -- covered by a private tmpfs
        inside = any(path == folder or path.startswith(folder + "/") for path in sources)
        if os.path.isdir(folder) and not os.path.islink(folder) and not inside:
            return folder
    raise OSError(2, "no directory to build a private root on")


def _bind(source: str, target: str) -> None:
    """Bind a file or folder at the same path below the stage, creating its parents."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a"):
            pass
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)


def _hide_packages(host: Host, stage: str) -> None:
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | kernel.MS_RDONLY
    for folder in [*host.stdlib, *host.libraries]:
        for name in PACKAGES:
            if os.path.isdir(f"{folder}/{name}"):
                kernel.mount("tmpfs", f"{stage}{folder}/{name}", "tmpfs", flags, "size=4k,nr_inodes=2")


def _copy_root_links(stage: str) -> None:
    """Copy links such as `/lib`, which most systems have and the loader's cache uses."""
    for entry in os.scandir("/"):
        if entry.is_symlink() and entry.name.startswith("lib"):
            target = os.readlink(entry.path)
            if not os.path.lexists(stage + entry.path):
                os.symlink(target, stage + entry.path)


def _drop_root(manner: str, unique: int) -> str:
    """Switch from root to an unused uid, one per zygote; or keep the uid and drop every capability."""
    if manner == "none":
        return "root"
    os.setgroups([])
    if manner == "keep":
        kernel.drop_capabilities()
        return "ok: uid 0 kept, no capabilities"
    try:
        return _become(1_900_000_000 + unique)
    except OSError:
        return _become(60_000 + unique % 5_000)  # in a container only low uids may be mapped


def _become(uid: int) -> str:
    """Switch the group before the user: afterwards the right to change the group is gone."""
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.drop_capabilities()
    return f"ok: uid {uid}"


def _grants(host: Host) -> dict[str, int]:
    grants: dict[str, int] = {}
    read = landlock.READ_FILE | landlock.READ_DIR
    for folder in host.stdlib:
        grants[folder] = landlock.READ_DIR  # the import finder must see the listing, not the packages
        for name in os.listdir(folder):
            if name not in PACKAGES:
                grants[f"{folder}/{name}"] = read
    for path in (*host.libraries, LOADER_CACHE, ZONEINFO):
        grants.setdefault(path, read)
    for device in DEVICES:
        # a write to the random devices would stir the machine's own pool
        grants[device] = landlock.READ_FILE | (0 if "random" in device else landlock.WRITE_FILE)
    return grants


def _stdlib_folders() -> list[str]:
    names = ("stdlib", "platstdlib")
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in names}
    folders |= {os.path.realpath(path) for path in sys.path if os.path.isdir(path)}
    roots = [f for f in folders if not any(f != g and f.startswith(g + "/") for g in folders)]
    return sorted(roots)


def _library_paths(stdlib: list[str]) -> Iterator[str]:
    """Folders of the shared objects that are mapped; the file alone if its folder also contains the stdlib."""
    for path in _mapped_objects():
        folder = os.path.dirname(path)
        if any(path.startswith(root + "/") for root in stdlib):
            continue
        beside = any(root == folder or root.startswith(folder + "/") for root in stdlib)
        yield path if beside else folder


def _mapped_objects() -> Iterator[str]:
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count(" /")}
    except OSError:
        return
    for path in sorted(paths):
        if ".so" in os.path.basename(path) and os.path.isfile(path):
            yield os.path.realpath(path)


def _tasks_of(uid: int) -> int:
    """How many threads the user has: the kernel counts all of them against one limit."""
    count = 0
    try:
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    if os.stat(f"/proc/{name}").st_uid == uid:
                        count += len(os.listdir(f"/proc/{name}/task"))
                except OSError:
                    continue
    except OSError:
        return 1_000
    return count
