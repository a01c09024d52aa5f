"""The second line for memory and tasks: where a cgroup may be made, what it stops, and that none is left behind.

How a place is found is tried on folders that stand for the hierarchy; what the kernel does, on a host that allows it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.sandbox import IoPairs, Limits, Outcome, Program, Sandbox, Stdout, TestProgram, cgroups, pool
from assay.sandbox.cgroups import Cgroup, CgroupParent, CgroupRefusedError, find_place

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cgroups are Linux only")


def hierarchy(
    folder: Path,
    own: str,
    *,
    mounted: str = "/",
    controllers: str = "cpu memory pids",
    enabled: str = "memory pids",
    memory_max: str = "max",
) -> Path:
    """A stand-in for what the kernel shows: `proc` with the process's cgroup, and the folders of the hierarchy."""
    proc, mount = folder / "proc", folder / "cgroup fs"
    proc.mkdir()
    escaped = str(mount).replace(" ", "\\040")
    (proc / "mountinfo").write_text(
        "25 1 0:22 / /sys rw - sysfs sysfs rw\n"
        f"30 25 0:26 {mounted} {escaped} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
    )
    (proc / "cgroup").write_text(f"4:pids:/elsewhere\n0::{own}\n")
    inner = mount / os.path.relpath(own, mounted)
    inner.mkdir(parents=True)
    for path in [inner, *inner.parents]:
        if path == folder:
            break
        (path / "cgroup.controllers").write_text(controllers)
        (path / "cgroup.subtree_control").write_text(enabled)
        if path != mount or mounted != "/":
            (path / "cgroup.events").write_text("populated 1\n")
            (path / "memory.max").write_text(memory_max)
    return proc


def test_the_place_is_next_to_the_cgroup_of_this_process(tmp_path: Path) -> None:
    proc = hierarchy(tmp_path, "/user.slice/app.slice/shell.scope")
    assert find_place(proc).folder == tmp_path / "cgroup fs" / "user.slice" / "app.slice"


def test_at_the_root_missing_controllers_are_enabled(tmp_path: Path) -> None:
    proc = hierarchy(tmp_path, "/", enabled="memory")
    place = find_place(proc)
    assert place.folder == tmp_path / "cgroup fs"
    assert (place.folder / "cgroup.subtree_control").read_text() == "+pids"


def test_only_a_part_of_the_hierarchy_may_be_mounted(tmp_path: Path) -> None:
    proc = hierarchy(tmp_path, "/machine/assay/shell", mounted="/machine")
    assert find_place(proc).folder == tmp_path / "cgroup fs" / "assay"


REFUSALS = [
    ("/a/b", {"controllers": "hugetlb"}, "memory and pids: not a controller of cgroup v2 here"),
    ("/a/b", {"enabled": "cpu pids"}, "memory not enabled for its children"),
    ("/a/b", {"memory_max": "4294967296"}, "has its own memory.max"),
    ("/container", {"mounted": "/container"}, "topmost cgroup it can see"),
    ("/../b", {}, "outside of the mounted hierarchy"),
]


@pytest.mark.parametrize(("own", "options", "words"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_host_that_allows_none_says_why(own: str, options: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(CgroupRefusedError, match=words):
        find_place(hierarchy(tmp_path, own, **options))


def test_a_host_without_version_2_says_so(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text("30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
    (tmp_path / "cgroup").write_text("4:memory:/\n")
    with pytest.raises(CgroupRefusedError, match="not mounted"):
        find_place(tmp_path)
    with pytest.raises(CgroupRefusedError, match="cannot be read"):
        find_place(tmp_path / "nowhere")


def test_a_cgroup_that_cannot_be_used_is_not_left_behind(tmp_path: Path) -> None:
    with pytest.raises(CgroupRefusedError, match="cannot be used"):  # no kernel here that would put its files in
        CgroupParent(tmp_path).enter(os.getpid())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CgroupRefusedError, match="no cgroup can be created"):
        CgroupParent(tmp_path / "nowhere").enter(os.getpid())


def test_empty_cgroups_of_the_dead_are_removed_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    dead = child.pid
    kept = {f"assay-{os.getpid()}-0", "assay-1-0", "assay-notes", "user.slice", f"assay-{dead}-7"}
    for name in {*kept, f"assay-{dead}-0", f"assay-{dead}-31"}:
        (tmp_path / name).mkdir()
    (tmp_path / f"assay-{dead}-7" / "cgroup.procs").touch()  # not empty: rmdir refuses, as the kernel does
    CgroupParent(tmp_path).remove_stale()
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_what_the_kernel_counts_is_read_from_its_files(tmp_path: Path) -> None:
    cgroup = Cgroup(tmp_path)
    assert not cgroup.ran_out_of_memory()
    assert not cgroup.is_full()
    (tmp_path / "memory.max").touch()
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "pids.current").write_text(f"{cgroups.MAX_TASKS}\n")
    assert [cgroup.ran_out_of_memory(), cgroup.ran_out_of_memory()] == [True, False]
    assert cgroup.is_full()
    cgroup.allow(100)
    assert (tmp_path / "memory.max").read_text() == str(cgroups.room_mb(100) << 20)


SUICIDE = "import os\ndef f(x): os.kill(os.getpid(), 9)"
OUTPUTS = Stdout(code="print(1)", stdin=("1", "2"), expected=("1", "1"))


@pytest.mark.parametrize("killed", [1, 0], ids=["by the kernel", "by itself"])
def test_the_kernels_count_shows_why_a_candidate_was_killed(killed: int, tmp_path: Path) -> None:
    outcome = asyncio.run(judged_with_a_stand_in(tmp_path, killed, IoPairs(code=SUICIDE, pairs=((1, 2),))))
    assert outcome.outcome == ("memory" if killed else "crash")


@pytest.mark.parametrize(("program", "checks"), [(IoPairs(code="", pairs=((1, 2), (3, 4))), 2), (OUTPUTS, 2)])
def test_a_program_for_which_the_kernel_killed_the_zygote_has_its_own_outcome(
    program: Program, checks: int, tmp_path: Path
) -> None:
    """Or it could leave the denominator by using up the memory of those who judge it."""
    outcome = asyncio.run(judged_with_a_stand_in(tmp_path, 1, program, zygote_too=True))
    assert [check.outcome for check in outcome.checks] == ["memory"] * checks
    assert outcome.share == 0.0


async def judged_with_a_stand_in(folder: Path, killed: int, program: Program, *, zygote_too: bool = False) -> Outcome:
    """By a zygote whose cgroup is a folder that says so many were killed."""
    (folder / "memory.max").touch()
    async with Sandbox(workers=1, pretend=("no_cgroup",)) as sandbox:
        zygote = sandbox._threads[0]._zygote
        assert zygote is not None
        zygote.cgroup = Cgroup(folder)
        (folder / "memory.events").write_text(f"oom_kill {killed}\n")
        if zygote_too:
            zygote._process.kill()
            zygote._process.wait()
        try:
            return await sandbox.run(program)
        finally:
            assert (await sandbox.run(HONEST)).outcome == "pass"
            zygote.cgroup = None


def test_a_host_without_cgroups_changes_nothing_else() -> None:
    async def use() -> tuple[dict[str, str], Outcome]:
        async with Sandbox(workers=1, pretend=("no_cgroup",)) as sandbox:
            return sandbox.report.layers, await sandbox.run(HONEST)

    layers, outcome = asyncio.run(use())
    assert layers["cgroup"] == "none: disabled by the test"
    assert outcome.outcome == "pass"


HONEST = IoPairs(code="def f(x): return x + 1", pairs=((1, 2),))
GREEDY = "def f(x): return len(bytearray(b'x') * (400 << 20))"
BOMB = """
import threading
stop, count = threading.Event(), 0
try:
    while count < 5_000:
        threading.Thread(target=stop.wait, daemon=True).start()
        count += 1
except RuntimeError: pass
def f(x): return count < 300
"""


def where_cgroups_are_made() -> CgroupParent | None:
    place = pool.place_for_cgroups()
    if isinstance(place, str):
        return None
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        try:
            place.enter(child.pid).remove()
        except CgroupRefusedError:
            return None
        finally:
            child.kill()
    return place


PLACE = where_cgroups_are_made()
real = pytest.mark.skipif(PLACE is None, reason="this host lets us make no cgroup with limits")


def ours() -> set[str]:
    assert PLACE is not None
    return {path.name for path in PLACE.folder.iterdir() if path.name.startswith(f"assay-{os.getpid()}-")}


def run(program: Program, limits: Limits | None = None, pretend: tuple[str, ...] = ()) -> Outcome:
    """The outcome; the sandbox lives on, and leaves nothing behind."""

    async def use() -> Outcome:
        async with Sandbox(workers=1, pretend=pretend) as sandbox:
            assert sandbox.report.layers["cgroup"] == "ok: memory and tasks"
            outcome = await sandbox.run(program, limits)
            assert (await sandbox.run(HONEST)).outcome == "pass"
            assert sandbox.replaced == 0
            return outcome

    try:
        return asyncio.run(use())
    finally:
        assert ours() == set()


@real
def test_every_zygote_is_in_a_cgroup_of_its_own_and_the_report_says_so() -> None:
    async def use() -> None:
        async with Sandbox(workers=2) as sandbox:
            await asyncio.gather(*[sandbox.run(HONEST) for _ in range(8)])
            assert "seccomp, cgroup;" in sandbox.report.line()
            assert PLACE is not None
            for name in ours():
                assert (PLACE.folder / name / "pids.max").read_text().strip() == str(cgroups.MAX_TASKS)
                assert (PLACE.folder / name / "memory.max").read_text().strip() == str(cgroups.room_mb(512) << 20)
                assert (PLACE.folder / name / "cgroup.procs").read_text().split()
            assert 1 <= len(ours()) <= 2

    asyncio.run(use())
    assert ours() == set()


@real
@pytest.mark.parametrize(
    "program",
    [
        IoPairs(code=GREEDY, pairs=((1, 400 << 20),)),
        Stdout(code=f"{GREEDY}\nprint(f(1))", expected=(str(400 << 20),)),
        TestProgram(code=GREEDY, tests="x = f(1)\nassert x"),
    ],
    ids=["pairs", "output", "tests"],
)
def test_a_candidate_that_meets_the_limit_on_memory_is_reported(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "room_mb", lambda _: 200)  # below what the process's own limit allows
    assert run(program, Limits(memory_mb=1024, cpu_seconds=60)).outcome == "memory"


@real
@pytest.mark.parametrize("pretend", [(), ("container",)], ids=["namespaces", "no namespaces"])
def test_a_thread_bomb_ends_at_the_limit_on_tasks(pretend: tuple[str, ...]) -> None:
    roomy = Limits(cpu_seconds=20, memory_mb=16_000)
    assert run(IoPairs(code=BOMB, pairs=((1, True),)), roomy, pretend).outcome == "pass"
    program = TestProgram(code=BOMB, tests="x = f(1)\nassert x")
    assert run(program, roomy, pretend).outcome in ("pass", "runtime_error")  # the latter when its test found no room


@real
def test_what_a_killed_harness_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom assay.sandbox import Sandbox\nbox = Sandbox(workers=1)\nbox.start_here()\n"
        "print(os.getpid(), flush=True)\nsys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(pool.__file__).parents[2])}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline()
        assert PLACE is not None
        (left,) = (path for path in PLACE.folder.iterdir() if path.name.startswith(f"assay-{harness.pid}-"))
        harness.send_signal(signal.SIGKILL)
    while (left / "cgroup.procs").exists() and (left / "cgroup.procs").read_text():
        os.sched_yield()  # the zygote sees that the harness hung up, and leaves
    find_place()
    assert not left.exists()
