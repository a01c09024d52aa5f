"""Files of runs are regular files of a bounded size; anything else is a sentence, and never a wait."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.regular_file import irregular, open_regular, open_to_append, read_regular


def odd(folder: Path, kind: str) -> Path:
    path = folder / "odd"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.relpath(path))  # the name of a socket has to be short
        server.close()
    else:
        path.symlink_to("/dev/zero")
    return path


KINDS = ["a pipe", "a folder", "a socket", "a device"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = odd(tmp_path, kind)
    assert irregular(path) == kind
    for read in (open_regular, read_regular):
        with pytest.raises(UsageError, match=f"odd: is {kind}, not a regular file"):
            read(path)


@pytest.mark.parametrize("kind", [*KINDS, "a link"])
def test_what_is_not_a_file_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = odd(tmp_path, kind)
    with pytest.raises(UsageError, match=r"odd: is a \w+, not a regular file"):
        open_to_append(path)


def test_a_file_that_is_missing_is_the_readers_to_tell(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
    assert irregular(tmp_path / "none") is None


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link") == b"content"


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 100)
    assert read_regular(path, 100) == b"x" * 100
    with pytest.raises(UsageError, match="is larger than"):
        read_regular(path, 99)
    os.truncate(path, 1 << 40)  # a terabyte that takes no room on the disk
    with pytest.raises(UsageError, match="is larger than 64 MB"):
        read_regular(path)


def test_a_file_that_cannot_be_read_or_has_no_possible_name_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be read: Not a directory"):
        open_regular(tmp_path / "file" / "inside")
    with pytest.raises(UsageError, match="cannot be read"):
        open_regular(tmp_path / "a\0b")
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        open_to_append(tmp_path / "file" / "inside" / "journal.jsonl")
