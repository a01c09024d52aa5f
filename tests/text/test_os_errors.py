"""What the operating system refused, in the words of the person who can mend it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from assay.text.os_errors import reason, sentence


def raised(path: Path) -> OSError:
    with pytest.raises(OSError) as caught:
        path.read_bytes()
    return caught.value


def test_the_file_is_named_with_what_the_system_said(tmp_path: Path) -> None:
    assert sentence(raised(tmp_path / "none")) == f"{tmp_path}/none: No such file or directory"


def test_two_files_are_named_in_their_order() -> None:
    assert sentence(OSError(errno.EXDEV, "Invalid cross-device link", "a", None, "b")) == (
        "a -> b: Invalid cross-device link"
    )


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EMFILE, "ulimit -n"),
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "choose a place that can be written"),
    ],
)
def test_where_there_is_something_to_do_it_is_said(number: int, advice: str) -> None:
    assert reason(OSError(number, os.strerror(number))).startswith(f"{os.strerror(number)}; ")
    assert advice in reason(OSError(number, os.strerror(number)))


def test_an_error_without_words_is_not_silent() -> None:
    assert reason(OSError()) == "OSError"
    assert sentence(TimeoutError()) == "TimeoutError"
    assert sentence(OSError(errno.ENOENT, "gone", b"caf\xc3\xa9")) == "café: gone"
    assert sentence(OSError(errno.EBADF, "Bad file descriptor", 7)) == "Bad file descriptor"
