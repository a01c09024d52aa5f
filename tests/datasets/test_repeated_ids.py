"""Repeated ids are found in files too large to remember them all, and no id is called repeated that is not."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from assay.core.errors import UsageError
from assay.datasets import repeated_ids
from assay.datasets.repeated_ids import FirstLines, first_lines, repeated
from assay.formats.folder.reader import read_task_file
from assay.formats.frozen_spec.reader import validate_file


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_ids, "SMALL_FILE_BYTES", 0)


def write(path: Path, ids: list[str]) -> Path:
    lines = [f'{{"id": "{name}", "prompt": "p", "targets": ["t"], "metric": "exact_match"}}' for name in ids]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_repeated_id_is_reported_with_both_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "task.jsonl", ["a", "b", "c", "\\u0062", "d", "a"])
    with pytest.raises(UsageError) as caught:
        read_task_file(path)
    first, second, hint = str(caught.value).splitlines()
    assert "task.jsonl:4" in first
    assert "line 2" in first
    assert "task.jsonl:6" in second
    assert "line 1" in second
    assert hint == "2 bad lines: fix them, or skip them with --allow-bad-tasks"


def test_ids_that_only_share_a_checksum_are_no_repetition(tmp_path: Path) -> None:
    one, two = "plumless", "buckeroo"  # a well-known pair
    assert crc32(one.encode()) == crc32(two.encode())
    assert read_task_file(write(tmp_path / "task.jsonl", [one, "x", two])).dataset.size == 3


def test_lines_that_are_no_records_do_not_hide_a_repetition(tmp_path: Path) -> None:
    path = tmp_path / "task.jsonl"
    write(path, ["a", "b", "a"])
    path.write_bytes(b"\xef\xbb\xbf# for people\n" + path.read_bytes() + b"not json\n\xff\n")
    with pytest.raises(UsageError, match="already"):
        read_task_file(path)


def test_the_frozen_spec_finds_them_too(tmp_path: Path) -> None:
    record = (
        '{"task_id": "arith_001", "category": "arithmetic", "prompt": "1+1", "targets": ["2"],'
        ' "metric_name": "exact_match", "post_process": "none"}'
    )
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{record}\n{record.replace('001', '002')}\n{record}\n")
    good, bad = validate_file(path)
    assert [error.rule for error in bad] == ["duplicate_task_id"], (good, bad)


def test_only_suspects_are_remembered() -> None:
    seen = FirstLines(repeated([1, 2, 2, 3, 3, 3]))
    assert [seen.of("never a suspect", number) for number in (5, 9)] == [5, 9]


def test_a_file_that_is_not_there_is_left_to_the_careful_walk(tmp_path: Path) -> None:
    assert first_lines(tmp_path / "none.jsonl", "id").of("a", 3) == 3
