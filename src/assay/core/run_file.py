"""`run.json`: what a run is, so that its numbers can be explained and the same command can go on with it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay import os_errors
from assay.core.config import RunConfig
from assay.core.errors import UnwritableError, UsageError
from assay.core.regular_file import irregular, read_regular
from assay.core.types import TaskDefinition

RUN_SCHEMA = "run.v1"


class RunFile(Struct, frozen=True, kw_only=True):
    """Everything that has a part in the run's numbers, and the settings it was made with."""

    schema: str
    fingerprint: str
    """Of what the result depends on: tasks, model, settings. Another one is another run."""
    tasks: dict[str, str]
    model: dict[str, Any]
    settings: dict[str, Any]
    config: RunConfig
    definitions: tuple[TaskDefinition, ...]
    versions: dict[str, str]
    created: str
    command: list[str] = []
    sandbox: dict[str, Any] | None = None
    answers_of: str = ""
    """The run whose answers were scored again, as `sealed_as` names it; empty for a run that asked a model."""

    def __post_init__(self) -> None:
        """What readers rely on, whoever wrote the file."""
        if not isinstance(self.model.get("name"), str):
            raise ValueError("the model has no name")
        for definition in self.definitions:
            if definition.name not in self.tasks:
                raise ValueError(f"the task `{definition.name}` has no fingerprint")


def read_run_file(folder: Path) -> RunFile:
    path = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a run folder (it is {irregular(folder) or 'a file'})")
    try:
        return msgspec.json.decode(read_regular(path), type=RunFile)
    except FileNotFoundError:
        raise UsageError(f"{folder}: not a run folder (it has no run.json)") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a {RUN_SCHEMA} file: {error}") from error


def sealed_as(run_file: RunFile) -> str:
    """What a seal of this run's folder is made of."""
    return f"{run_file.fingerprint} {run_file.created}"


def what_changed(earlier: RunFile, now: RunFile) -> list[str]:
    """Why two runs are not one, in words."""
    changes = []
    for name in sorted({*earlier.tasks, *now.tasks}):
        if earlier.tasks.get(name) != now.tasks.get(name):
            state = "changed" if name in earlier.tasks and name in now.tasks else "is in only one of them"
            changes.append(f"task `{name}` {state}")
    for key in sorted({*earlier.model, *now.model}):
        if earlier.model.get(key) != now.model.get(key):
            changes.append(f"model {key} was {earlier.model.get(key)!r}, now {now.model.get(key)!r}")
    for key in sorted({*earlier.settings, *now.settings}):
        if earlier.settings.get(key) != now.settings.get(key):
            changes.append(f"{key} was {earlier.settings.get(key)!r}, now {now.settings.get(key)!r}")
    return changes or ["its fingerprint differs"]


def write_text(path: Path, text: str) -> None:
    """Text as UTF-8; half a character, which UTF-8 has no place for, as the escape that JSON has for it."""
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def write_whole(path: Path, data: bytes) -> None:
    """All of the file or nothing of it, also when the disk is full or the process dies."""
    if not path.name:
        raise UnwritableError(f"{path}: is a folder, not a file to write")
    # a name of its own: several processes may begin the same run at once
    partial = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise UnwritableError(f"{path}: could not write: {os_errors.reason(error)}") from error
