"""The task files that come with assay: the starter tasks, and the fixtures of the frozen task spec."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import UsageError

_HERE = Path(__file__).parent

STARTER_TASKS = _HERE / "starter"
"""A task folder of five small tasks, one per metric family; the toy model answers every one of them."""

SPEC_FIXTURE = _HERE / "data" / "tasks.jsonl"
"""Ten good records of the frozen task spec: two per category, every metric and every post-process rule."""

BAD_SPEC_FIXTURE = _HERE / "data" / "tasks_bad.jsonl"
"""Bad records of the frozen task spec: one line for each rule a line can break."""


DEMO_REAL_TASKS = _HERE / "demo_real"
"""A task folder for a small real model: forty simple items, by writing and by likelihood."""


def seed_fixture_tasks(target_dir: Path | str) -> list[Path]:
    """Copy the starter tasks into a folder, made if missing, and return their paths there.

    A file that is already there with the same content is left alone; one with other content is never overwritten, and
    then nothing is copied at all.
    """
    target = Path(target_dir)
    contents = {target / file.name: file.read_bytes() for file in sorted(STARTER_TASKS.glob("*.jsonl"))}
    try:
        target.mkdir(parents=True, exist_ok=True)
        missing = [path for path, content in contents.items() if not _already_there(path, content)]
        for path in missing:
            with path.open("xb") as file:
                file.write(contents[path])
    except OSError as error:
        raise UsageError(f"{error.filename or target}: cannot be written: {error.strerror or error}") from error
    return list(contents)


def _already_there(path: Path, content: bytes) -> bool:
    if not path.exists():
        return False
    if path.read_bytes() != content:
        raise UsageError(f"{path}: is there already with other content; move it away or choose another folder")
    return True


def built_in_files(name: str) -> list[Path]:
    """The task files behind the built-in names that `assay run` takes."""
    folders = {"starter": STARTER_TASKS, "demo-real": DEMO_REAL_TASKS}
    return sorted(folders[name].glob("*.jsonl")) if name in folders else [SPEC_FIXTURE]
