"""The files of the folders around a task file: found by their key or by their name, and kept inside the project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.datasets.tables import READERS
from assay.formats.declarative.checked import checked_dataset, checked_model, kind_of
from assay.formats.declarative.reading_options import ReadingOptions
from assay.formats.declarative.yaml_reader import Document, FieldPath, hint_here, read_yaml
from assay.trust.project import out_of_bounds

DATA_ENDINGS = tuple(READERS)
MAX_PROMPT_BYTES = 1 << 20


@dataclass(slots=True, kw_only=True)
class NearbyFiles:
    """Where a file's keys and paths are looked for, and what was used of it."""

    home: Path
    """The folder of the file that does the naming."""
    root: Path
    """No file outside of this folder is read, unless that is allowed."""
    environ: Mapping[str, str] | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    used: list[Path] = field(default_factory=list)
    """Files that were used."""
    variables: list[str] = field(default_factory=list)
    """`$NAME`s of those that were left unresolved."""

    def read_beside(self, path: Path) -> Document | None:
        """A file next to the task's own; None for one that cannot be read, which is reported where it is named."""
        try:
            return self._read(path)
        except UsageError:
            return None

    def keyed_file(self, kind: str, key: str) -> Document | None:
        """The nearest YAML file that holds this; files that cannot be read are skipped."""
        for folders in self._near_to_far(f"{kind}s"):
            documents: list[Document] = []
            for path in (path for folder in folders for path in _yaml_files(folder)):
                label = self._label(path)
                if label != (kind, key) and not (label and label[0] == kind and label[1].startswith("$")):
                    continue
                document = self._read(path)
                if self.reading.mending is not None:
                    document = self.reading.mending.applied(document)
                if isinstance(document.value, dict) and document.value.get("key") == key:
                    documents.append(document)
            if len(documents) > 1:
                raise _ambiguous(kind, key, [document.path for document in documents])
            for document in documents:
                self.used.extend(document.files)
                self.variables.extend(document.variables)
                return document
        return None

    def data_file_called(self, key: str) -> Path | None:
        """The nearest data file named like the key."""
        for folders in self._near_to_far("datasets"):
            named = (folder / f"{key}{ending}" for folder in folders for ending in DATA_ENDINGS)
            files = [path for path in named if path.is_file()]
            if len(files) > 1:
                raise _ambiguous("dataset", key, files)
            for path in files:
                if reason := self.out_of_bounds(path, str(path)):
                    raise UsageError(reason)
                return path
        return None

    def hint(self, kind: str, key: str, loaded: Iterable[str]) -> str:
        """The closest key, or those that exist, as a sentence."""
        keys = {*loaded, *self.keys(kind)}
        if kind == "dataset":
            folders = self.folders("datasets")
            keys |= {path.stem for folder in folders for path in folder.iterdir() if path.suffix in DATA_ENDINGS}
        sentence = hint_here(key, keys) if keys else ""
        return f"{sentence}{'' if sentence.endswith(('.', '?')) else '.'} " if sentence else ""

    def keys(self, kind: str) -> list[str]:
        """Those of all YAML files that hold this."""
        labels = [self._label(path) for folder in self.folders(f"{kind}s") for path in _yaml_files(folder)]
        return [label[1] for label in labels if label is not None and label[0] == kind]

    def refuse_broken(self, kind: str, key: str, *, of_this_name: bool = False) -> None:
        """What was not found may be in a file that cannot be read, or that holds something else by mistake.

        With `of_this_name` only files that are called like it are looked at.
        """
        for folder in self.folders(f"{kind}s")[1:]:  # the file's own folder holds tasks, which report it themselves
            for path in _yaml_files(folder):
                label = self._label(path)
                if path.stem == key or (not of_this_name and (label is None or label[1] == key)):
                    document = self._read(path)
                    check = checked_model if kind == "model" else checked_dataset
                    check(document, document.value)

    def folders(self, kind: str) -> list[Path]:
        return [folder for folders in self._near_to_far(kind) for folder in folders]

    def _near_to_far(self, kind: str) -> list[list[Path]]:
        """The folders looked through; of those that are equally near only one may hold a key."""
        seen: set[Path] = set()
        groups: list[list[Path]] = []
        for candidates in ([self.home, self.home / kind], [self.home.parent / kind], [self.root / kind]):
            folders: list[Path] = []
            for candidate in filter(Path.is_dir, candidates):
                for folder in _with_inner(candidate) if candidate.name == "datasets" == kind else [candidate]:
                    if (resolved := folder.resolve()) not in seen:
                        seen.add(resolved)
                        folders.append(folder)
            groups.append(folders)
        return groups

    def text_file(self, document: Document, where: FieldPath, named: str) -> str:
        """A text that a file names, without its last line end."""
        path = self.path("file", document, where, named)
        try:
            text = read_regular(path, MAX_PROMPT_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise document.error(where, f"{path}: not UTF-8 at byte {error.start}") from error
        self.used.append(path)
        return text.removesuffix("\n").removesuffix("\r")

    def path(self, kind: Literal["file", "folder"], document: Document, where: FieldPath, named: str) -> Path:
        """The file or folder that a field names."""
        path = document.directory(where) / named
        if reason := self.out_of_bounds(path, named):
            raise document.error(where, reason)
        if not (path.is_file() if kind == "file" else path.is_dir()):
            raise document.error(where, f"there is no {kind} {path}")
        return path

    def out_of_bounds(self, path: Path, named: str) -> str | None:
        """Why the file, with links resolved, may not be read."""
        reason = None if self.reading.allow_outside else out_of_bounds(path, self.root)
        return f"`{named}` {reason}; allow it with --allow-outside" if reason else None

    def _read(self, path: Path) -> Document:
        return read_yaml(path, root=self.root, allow_outside=self.reading.allow_outside, environ=self.environ)

    def _label(self, path: Path) -> tuple[str, str] | None:
        """What kind of thing a YAML file holds, and under which key as it is written; None where it cannot be read.

        Cached, or each of a folder's tasks would read all the others to find its dataset.
        """
        status = path.stat()
        version = status.st_ino, status.st_size, status.st_mtime_ns
        return _label_of_version(path, version, self.root, self.reading.allow_outside)


def _with_inner(folder: Path) -> list[Path]:
    """The folder and those inside of it, without links and names that begin with a dot."""
    found: list[Path] = []
    for path, inner, _ in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        found.append(Path(path))
    return found


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())


def _ambiguous(kind: str, key: str, paths: Sequence[Path]) -> UsageError:
    return UsageError(f"the {kind} `{key}` is given twice: in {' and in '.join(map(str, paths))}; remove or rename one")


@lru_cache(maxsize=10_000)
def _label_of_version(path: Path, _: tuple[int, ...], root: Path, allow_outside: bool) -> tuple[str, str] | None:
    try:
        value = read_yaml(path, root=root, allow_outside=allow_outside).value
    except UsageError:
        return None
    return kind_of(value), str(value.get("key")) if isinstance(value, dict) else ""
