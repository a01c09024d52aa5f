"""`run.json`: the identity and settings of a run, which explain its numbers and let the same command resume it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from assay.core.errors import SearchFolderError, UnwritableError, UsageError
from assay.core.regular_file import irregular, read_regular
from assay.core.types import TaskDefinition
from assay.run_config import RunConfig
from assay.text import os_errors

RUN_SCHEMA = "run.v1"
SEARCH_SCHEMA = "assay.optimize.run.v1"
"""The `schema` of the `run.json` of a search, which is not a run."""


class Repair(Struct, frozen=True, kw_only=True):
    """Damaged lines of a journal that were set aside, so that their attempts are run again."""

    file: str
    lines: int
    missing: tuple[tuple[int, int], ...] = ()
    """The line numbers that the journal lacks since, as first and last of each gap."""
    time: str


class ReusedTask(Struct, frozen=True, kw_only=True):
    """What a run took of one task from an earlier result."""

    folder: str
    """Of that result, as it was named."""
    run: str
    """That result, as `sealed_as` names it."""
    ref: str
    """What the user gave after `--changed`."""
    commit: str
    """Where the answers were made; empty outside a checkout."""
    created: str
    """When the run that made the answers began: it may be another one, from which that result took them."""
    attempts: int
    """Answers that were taken."""
    whole: bool
    """Whether every attempt was taken with its scores, so that there is nothing to test."""


class RunFile(Struct, frozen=True, kw_only=True):
    """Everything that the numbers of a run depend on, and its settings."""

    schema: str
    fingerprint: str
    """Hash of what the result depends on: tasks, model, settings. A different fingerprint is a different run."""
    tasks: dict[str, str]
    model: dict[str, Any]
    settings: dict[str, Any]
    config: RunConfig
    definitions: tuple[TaskDefinition, ...]
    versions: dict[str, str]
    created: str
    command: list[str] = []
    sandbox: dict[str, Any] | None = None
    commit: str = ""
    """The commit of the git checkout that the run was started in; empty outside a checkout."""
    answers_of: str = ""
    """The run whose answers were rescored, as `sealed_as` names it; empty for a run that called a model."""
    unbilled: tuple[str, ...] = ()
    """Of the evaluated model and the judges those that no vendor bills: Python, programs, servers that users run."""
    reused: dict[str, ReusedTask] = {}
    """By task, what `--changed` took from an earlier result."""
    repairs: tuple[Repair, ...] = ()
    """Each time that `assay repair` set damaged lines aside."""

    def __post_init__(self) -> None:
        """Check what readers rely on, whichever program wrote the file."""
        if self.schema != RUN_SCHEMA:
            raise ValueError(f"its schema is `{self.schema}`; read it with the version of assay that made it")
        if not isinstance(self.model.get("name"), str):
            raise ValueError("the model has no name")
        for definition in self.definitions:
            if definition.name not in self.tasks:
                raise ValueError(f"the task `{definition.name}` has no fingerprint")
            for part in (*definition.scorers, *definition.aggregates):
                if part.about is None:
                    raise ValueError(f"`{part.key}` does not say what it is; read it with the version that made it")

    @property
    def model_label(self) -> str:
        """What tables call the model: its label, or else its name."""
        return self.config.label or str(self.model["name"])


class _Schema(Struct):
    schema: str = ""


def read_run_file(folder: Path) -> RunFile:
    path = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a run folder (it is {irregular(folder) or 'a file'})")
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise UsageError(f"{folder}: not a run folder (it has no run.json)") from None
    try:
        return msgspec.json.decode(data, type=RunFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if msgspec.json.decode(data, type=_Schema).schema == SEARCH_SCHEMA:
                instead = f"open {folder}/page.html, or browse it with `assay view {folder}`"
                raise SearchFolderError(
                    f"{folder}: holds a search of `assay optimize`, not a run: {instead}"
                ) from error
        raise UsageError(f"{path}: not a {RUN_SCHEMA} file: {error}") from error


class SealedFile(Protocol):
    """The fields of the `run.json` of a run or a search that the seal of its folder covers."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def created(self) -> str: ...


def sealed_as(run_file: SealedFile) -> str:
    """The text that the seal of a run's folder is computed from."""
    return f"{run_file.fingerprint} {run_file.created}"


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, with lone surrogates as JSON escapes."""
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def write_whole(path: Path, data: bytes) -> None:
    """Write all of a file or nothing, even when the disk is full or the process dies."""
    with writing_whole(path) as file:
        file.write(data)


def refuse_unwritable(path: Path) -> None:
    """`UnwritableError` before long work for a file that could not be written after it; leaves nothing behind."""
    if path.is_dir():
        raise UnwritableError(f"{path}: is a folder, not a file to write")
    folder = next(each for each in path.absolute().parents if os.path.lexists(each))
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UnwritableError(f"{path}: cannot be written: {os_errors.reason(error)}") from error


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write piece by piece, which replaces `path` once all of it is on the disk."""
    if not path.name:
        raise UnwritableError(f"{path}: is a folder, not a file to write")
    # a unique name: several processes may begin the same run at once
    partial = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.partial"
    try:
        with _new_file(partial) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(partial)
        if isinstance(error, OSError):
            raise UnwritableError(f"{path}: could not write: {os_errors.reason(error)}") from error
        raise


def _new_file(path: str) -> BinaryIO:
    try:
        return open(path, "xb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "xb")
