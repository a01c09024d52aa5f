"""Datasets in folders: every text file a row, its YAML front matter the other columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.datasets.rows import Row, RowDataset
from assay.overriding import override
from assay.part_options import Doc, PathOption, part
from assay.reading.bounded_yaml import Yaml12Loader, load_yaml

MAX_TEXT_BYTES = 16 << 20
MAX_FILES = 100_000
_FENCE = "---"


@describes(DatasetInfo())
@part(
    "Text files: columns `sample_id`, `file_name`, `content`, and the fields of their YAML front matter.",
    example="directory_path: articles, extension: .md",
)
class TextFiles(RowDataset):
    """The files of a folder and of those in it, in the order of their paths; links and hidden files are skipped.

    Columns: `sample_id` (the path without its ending), `file_name`, `content`, and the fields of the front matter.
    """

    def __init__(
        self,
        *,
        path: Annotated[
            str,
            Meta(min_length=1),
            PathOption("Relative to the file that defines the dataset.", "directory_path", is_folder=True),
        ],
        extension: Annotated[str, Doc("Which files: `.md`; all when absent.")] = "",
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name or Path(path).name, **options)
        self.path = Path(path)
        self._extension = f".{extension.lstrip('.')}" if extension else ""
        if not self.path.is_dir():
            raise UsageError(f"dataset `{self.name}`: there is no folder {self.path}")

    @property
    @override
    def where(self) -> str:
        return f"dataset `{self.name}` in {self.path}"

    @override
    def rows(self) -> Iterator[Row]:
        for path in self._files:
            inside = path.relative_to(self.path)
            fields, content = _split(_text(path), path)
            own = {"file_name": path.name, "content": content}
            yield {"sample_id": inside.with_suffix("").as_posix(), **fields, **own}

    @cached_property
    @override
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for path in self._files:
            content = hashlib.sha256(read_regular(path, MAX_TEXT_BYTES)).hexdigest()
            digest.update(f"{path.relative_to(self.path).as_posix()}\0{content}\n".encode())
        return digest.hexdigest()

    @cached_property
    def _files(self) -> list[Path]:
        files: list[Path] = []
        for folder, inner, names in os.walk(self.path):
            inner[:] = [name for name in inner if not name.startswith(".")]
            wanted = [name for name in names if name.endswith(self._extension) and not name.startswith(".")]
            paths = [Path(folder) / name for name in wanted]
            files += [path for path in paths if not path.is_symlink() and path.is_file()]
            if len(files) > MAX_FILES:
                raise UsageError(f"{self.where}: more than {MAX_FILES:,} files")
        return sorted(files, key=lambda path: path.relative_to(self.path).as_posix())


def _text(path: Path) -> str:
    try:
        return read_regular(path, MAX_TEXT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _split(text: str, path: Path) -> tuple[Row, str]:
    """The fields of the front matter, between two lines of `---`, and the text after it."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        return {}, text  # a rule, not front matter
    fields = load_yaml("\n".join(lines[1:end]), str(path), Yaml12Loader)
    if not isinstance(fields, dict | None):
        raise UsageError(f"{path}:1: the front matter is not a mapping of columns")
    return {str(name): value for name, value in (fields or {}).items()}, "\n".join(lines[end + 1 :])
