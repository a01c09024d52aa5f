"""Datasets at an address: one file over http or https, fetched once and kept by its sha256."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from msgspec import Meta

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.regular_file import irregular
from assay.datasets.cell_types import Dtypes
from assay.datasets.content import Pin
from assay.datasets.json_lines import file_sha256
from assay.datasets.rows import Row, RowDataset
from assay.datasets.tables import FORMATS, READERS, table
from assay.overriding import override
from assay.part_options import Doc, Named, Words, part
from assay.text.redaction import credential_in
from assay.transport.download import download
from assay.transport.route import shown_host
from assay.user.project_folder import make_project_folder

DOWNLOADS = Path(".assay") / "downloads"
"""In the folder that the command runs in, like the cache of answers."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _about(options: Mapping[str, Any], _: object) -> DatasetInfo:
    given = options.get("url")
    urls = given if isinstance(given, list | tuple) else [given]
    return DatasetInfo(elsewhere=True, addresses={str(url): "url" for url in urls if url})


@describes(_about)
@part(
    "A file at an address: .jsonl, .csv, .tsv or .parquet, fetched once and kept.",
    example="""\
type: url
url: https://example.org/quiz.csv
sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
""",
)
class Remote(RowDataset):
    """Rows of a `.jsonl`, `.csv`, `.tsv` or `.parquet` file at an address.

    Nothing is fetched until rows are needed. An earlier download is reused if it has the expected sha256.
    """

    def __init__(
        self,
        *,
        url: Annotated[str, Meta(min_length=1), Doc("http:// or https://; a name or password in it is refused.")],
        sha256: Annotated[
            str | None,
            Meta(pattern="[0-9a-fA-F]{64}"),
            Doc("Of the file; a mismatch is an error. Without it the score cannot be reproduced."),
        ] = None,
        file_format: Annotated[
            str | None, Words(FORMATS), Named("format"), Doc("What the file is, where its address does not say it.")
        ] = None,
        name: str | None = None,
        dtypes: Dtypes = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name or _path(url).stem or "url", **options)
        self.url = _checked_url(url, self.name)
        self._ending = _checked_ending(url, file_format, self.name)
        self._dtypes = dtypes
        if sha256 is not None and not _SHA256.fullmatch(sha256.lower()):
            raise UsageError(f"dataset `{self.name}`: `sha256` is 64 hexadecimal digits, got `{sha256}`")
        self._wanted = sha256.lower() if sha256 is not None else None

    @property
    @override
    def where(self) -> str:
        return f"dataset `{self.name}` of {shown_host(self.url)}"

    @staticmethod
    def is_downloaded(*, url: str, sha256: str | None = None, file_format: str | None = None, **_: Any) -> bool:
        """Whether the file is pinned, and an earlier download of it can be read."""
        return sha256 is not None and _kept(sha256.lower(), _ending(url, file_format)) is not None

    @property
    def is_pinned(self) -> bool:
        return self._wanted is not None

    def pin(self) -> Pin:
        warning = (
            f"dataset `{self.name}`: {self.url} is not pinned, so scores on it cannot be reproduced once the file "
            f"changes; write `sha256: {self.sha256}` into its source"
        )
        return Pin({"sha256": self.sha256}, warning)

    @override
    def rows(self) -> Iterator[Row]:
        return self._table.rows()

    @property
    @override
    def sha256(self) -> str:
        return self._wanted or self._fetched[1]

    @cached_property
    def _table(self) -> RowDataset:
        return table(path=str(self._fetched[0]), name=self.name, dtypes=self._dtypes)

    @cached_property
    def _fetched(self) -> tuple[Path, str]:
        """The file on the disk, and its sha256."""
        if self._wanted is not None and (kept := _kept(self._wanted, self._ending)) is not None:
            return kept, self._wanted
        arrived = DOWNLOADS / f"{short_fingerprint([self.url, os.getpid()])}.arrived"
        try:
            make_project_folder(DOWNLOADS)
            sha256 = download(self.url, arrived)
            if self._wanted not in (None, sha256):
                raise UsageError(f"{self.url} is not the expected file: its sha256 is {sha256}, not {self._wanted}")
            path = DOWNLOADS / f"{sha256}{self._ending}"
            arrived.replace(path)
        except UsageError as error:
            raise UsageError(f"dataset `{self.name}`: {error}") from error
        except OSError as error:
            raise UsageError(f"dataset `{self.name}`: {DOWNLOADS} cannot be written: {error.strerror}") from error
        finally:
            arrived.unlink(missing_ok=True)
        return path, sha256


def _kept(sha256: str, ending: str) -> Path | None:
    if not _SHA256.fullmatch(sha256):
        return None
    path = DOWNLOADS / f"{sha256}{ending}"
    return path if path.is_file() and irregular(path) is None and file_sha256(path) == sha256 else None


def _checked_url(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"dataset `{name}`: `url` is the http:// or https:// address of a file, got `{url}`")
    if secret := credential_in(url):
        raise UsageError(f"dataset `{name}`: `url` holds {secret}, which is never written into a file")
    return url


def _checked_ending(url: str, file_format: str | None, name: str) -> str:
    if file_format is not None and file_format not in FORMATS:
        raise UsageError(f"dataset `{name}`: `format` is one of {', '.join(FORMATS)}, got `{file_format}`")
    ending = _ending(url, file_format)
    if ending not in READERS:
        raise UsageError(
            f"dataset `{name}`: the address ends in none of {', '.join(READERS)}; say with `format` what the file is"
        )
    return ending


def _ending(url: str, file_format: str | None) -> str:
    return f".{file_format}" if file_format is not None else _path(url).suffix.lower()


def _path(url: str) -> PurePosixPath:
    try:
        return PurePosixPath(unquote(urlsplit(url).path))
    except ValueError:
        return PurePosixPath()
