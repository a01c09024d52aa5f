"""A file at an address is fetched once, kept by its sha256, and refused when it is another one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.servers.file_server import file_server

from assay.core.errors import UsageError
from assay.datasets.remote import DOWNLOADS, Remote

CSV = b"q,n\nfirst,1\nsecond,2\n"
SHA = hashlib.sha256(CSV).hexdigest()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(dataset: Remote) -> list[object]:
    return [sample.row for sample in dataset]


def test_a_pinned_file_is_fetched_once_and_read_as_a_table() -> None:
    with file_server({"/rows.csv": CSV}) as server:
        url = f"{server.address}/rows.csv"
        assert rows(Remote(url=url, sha256=SHA.upper())) == [{"q": "first", "n": 1}, {"q": "second", "n": 2}]
        assert len(Remote(url=url, sha256=SHA)) == 2
        assert server.asked == ["/rows.csv"]
    assert rows(Remote(url=url, sha256=SHA, dtypes="string"))[0] == {"q": "first", "n": "1"}


def test_nothing_is_fetched_for_a_hash_that_is_given() -> None:
    assert Remote(url="http://127.0.0.1:9/rows.csv", sha256=SHA).sha256 == SHA


def test_another_file_than_the_one_wanted_is_refused_and_not_kept() -> None:
    with file_server({"/rows.csv": CSV + b"third,3\n"}) as server, pytest.raises(UsageError, match=f"not {SHA}"):
        len(Remote(url=f"{server.address}/rows.csv", sha256=SHA))
    assert list(DOWNLOADS.iterdir()) == []


def test_a_kept_file_that_someone_changed_is_fetched_again() -> None:
    with file_server({"/rows.csv": CSV}) as server:
        url = f"{server.address}/rows.csv"
        len(Remote(url=url, sha256=SHA))
        (DOWNLOADS / f"{SHA}.csv").write_bytes(b"q,n\nforged,1\n")
        assert len(Remote(url=url, sha256=SHA)) == 2


def test_an_unpinned_file_is_pinned_to_what_was_found() -> None:
    with file_server({"/rows.csv": CSV}) as server:
        dataset = Remote(url=f"{server.address}/rows.csv", name="table")
        assert not dataset.is_pinned
        pin = dataset.pin()
        assert pin.options == {"sha256": SHA}
        assert f"cannot be reproduced once the file changes; write `sha256: {SHA}`" in pin.warning
        assert len(Remote(url=dataset.url, **pin.options)) == 2
        assert server.asked == ["/rows.csv"]


def test_the_format_may_be_said_where_the_address_does_not() -> None:
    with file_server({"/export?id=3": CSV}) as server:
        assert len(Remote(url=f"{server.address}/export?id=3", file_format="csv")) == 2
    with pytest.raises(UsageError, match="say with `format`"):
        Remote(url="https://example.org/export?id=3")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc/passwd.csv", "http:// or https://"),
        ("ftp://example.org/x.csv", "http:// or https://"),
        ("https:///x.csv", "http:// or https://"),
        ("http://[::1/x.csv", "http:// or https://"),
        ("https://name:hunter2@example.org/x.csv", "never written into a file"),
        ("https://example.org/x.csv?api_key=hunter2", "never written into a file"),
    ],
)
def test_what_is_no_plain_address_is_refused(url: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        Remote(url=url)
    assert "hunter2" not in str(caught.value)


def test_what_is_no_hash_is_refused() -> None:
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        Remote(url="https://example.org/x.csv", sha256="abc")
