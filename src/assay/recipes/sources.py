"""The source files of a benchmark: found below a folder, read whole, and checked by their sha256."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.recipes.fetched import own_fetched_files


class Source(Struct, frozen=True, kw_only=True):
    """A file that a recipe read."""

    path: Path
    sha256: str
    known: bool


class Sources:
    """The files below a folder (or one file), read whole and checked at every read."""

    def __init__(self, data: Path, known: dict[str, str], *, accept_unknown: bool = False) -> None:
        if not data.exists():
            raise UsageError(f"{data}: there is no such file or folder; give the benchmark's original files")
        self._data = data
        fetched = own_fetched_files(data)
        members = {name: each["sha256"] for name, each in fetched.items() if "archive" in each and each["published"]}
        self._known = {**known, **members}
        self._fetched = {entry["sha256"] for entry in fetched.values()}
        self._accept_unknown = accept_unknown
        self.used: dict[str, Source] = {}
        self.of_task: dict[str, Source] = {}
        """The files read for the current task."""
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        """Add a note about these files for the user; each is reported once."""
        if message not in self.remarks:
            self.remarks.append(message)

    def names(self, pattern: str) -> list[str]:
        """The files below the folder that match the pattern, sorted by path."""
        if self._data.is_file():
            return [self._data.name]
        return sorted(path.relative_to(self._data).as_posix() for path in self._data.rglob(pattern) if path.is_file())

    def find(self, *names: str, required: bool = True) -> str | None:
        """The first of these files that exists."""
        for name in names:
            if self._path(name) is not None:
                return name
        if required:
            raise UsageError(f"{self._data}: none of {', '.join(names)} is here; give the benchmark's original files")
        return None

    def examples_file(self, *names: str) -> str:
        """The first of these files that exists; few-shot examples are taken from it."""
        name = self.find(*names, required=False)
        if name is None:
            raise UsageError(
                f"{self._data}: none of {', '.join(names)} is here, which has the few-shot examples; give the "
                "benchmark's original files, or use --num-fewshot 0"
            )
        return name

    def read(self, name: str) -> bytes:
        path = self._path(name)
        if path is None:
            raise UsageError(f"{self._data}: {name} is not here")
        content = path.read_bytes()
        self._check(path, hashlib.sha256(content).hexdigest())
        return gzip.decompress(content) if path.suffix == ".gz" else content

    def lines(self, name: str) -> list[Any]:
        """The records of a JSON Lines file."""
        return [json.loads(line) for line in self.read(name).splitlines() if line.strip()]

    def examples(self, shots: int, *names: str) -> list[Any]:
        """The first records of a training file, which is needed only where few-shot examples are shown."""
        return self.lines(self.examples_file(*names))[:shots] if shots else []

    def records(self, name: str) -> list[Any]:
        """The records of a CSV, JSON, JSON Lines or Parquet file."""
        if name.endswith(".parquet"):
            return _parquet(self.read(name))
        if name.endswith(".csv"):
            return list(csv.DictReader(io.StringIO(self.read(name).decode("utf-8"))))
        if name.endswith(".json"):
            content = json.loads(self.read(name))
            return content if isinstance(content, list) else list(content.values())
        return self.lines(name)

    def sha256(self, name: str) -> str:
        return self.used[Path(name).name].sha256

    def _path(self, name: str) -> Path | None:
        if self._data.is_file():
            return self._data if self._data.name == Path(name).name else None
        direct = self._data / name
        if direct.is_file():
            return direct
        paths = sorted(self._data.rglob(Path(name).name))
        return paths[0] if paths else None

    def _check(self, path: Path, sha256: str) -> None:
        expected = self._known.get(path.name)
        known = sha256 == expected or sha256 in self._known.values()
        if not known and sha256 not in self._fetched and not self._accept_unknown:
            mismatch = f"not {expected}" if expected else "which this recipe does not know"
            raise UsageError(
                f"{path}: its sha256 is {sha256}, {mismatch}. If it is the file you mean to use, add "
                "--accept-other-source: it is then used as it is, and recipe.json records that it differs"
            )
        self.used[path.name] = self.of_task[path.name] = Source(path=path, sha256=sha256, known=known)


def _parquet(content: bytes) -> list[Any]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("reading a Parquet file needs pyarrow: pip install 'assay-eval[parquet]'") from error
    rows: list[Any] = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    return rows
