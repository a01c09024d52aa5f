"""Datasets of evaluators: what is read, what is refused, and how that is reported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.evaluators import load_dataset


def written(folder: Path, content: str | bytes, name: str = "set.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_dataset(path)
    return str(caught.value)


def test_d1_two_objects(tmp_path: Path) -> None:
    assert load_dataset(written(tmp_path, '{"a": 1}\n{"b": [2]}')) == [{"a": 1}, {"b": [2]}]


def test_d2_blank_lines_are_skipped_wherever_they_are(tmp_path: Path) -> None:
    assert load_dataset(written(tmp_path, '\n  \n{"a": 1}\n\t\r\n{"a": 2}\r\n\n')) == [{"a": 1}, {"a": 2}]


def test_d3_bad_json_names_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a": 1}\n{"a": }\n')
    assert refusal(path).startswith(f"{path}:2: not valid JSON")


@pytest.mark.parametrize("record", ["[1]", '"text"', "3", "null", "true"])
def test_d4_only_objects_are_records(tmp_path: Path, record: str) -> None:
    assert ":1: each record must be an object" in refusal(written(tmp_path, record))


def test_d5_an_empty_file_gives_an_empty_list(tmp_path: Path) -> None:
    assert load_dataset(written(tmp_path, "")) == load_dataset(written(tmp_path, "\n\n")) == []


def test_d6_ten_thousand_and_one_are_too_many(tmp_path: Path) -> None:
    assert ":10001: more than 10,000 records" in refusal(written(tmp_path, "{}\n" * 10_001))


@pytest.mark.parametrize("between", ["", "\n"])
def test_ten_thousand_are_not_whatever_blanks_there_are(tmp_path: Path, between: str) -> None:
    assert len(load_dataset(written(tmp_path, f"{{}}\n{between}" * 10_000))) == 10_000


def test_d7_text_of_all_scripts_stays_as_it_is(tmp_path: Path) -> None:
    record = {"text": "Привет, 世界 🎈 naïve"}
    assert load_dataset(written(tmp_path, json.dumps(record, ensure_ascii=False))) == [record]


def test_all_bad_lines_are_listed_with_blank_lines_counted(tmp_path: Path) -> None:
    content = b'{"a": 1}\n\n[1]\nnonsense\n{"a": "\xff"}\n{"a": 2}\n{"a": NaN}\n{"a": 1, "a": 2}\n'
    path = written(tmp_path, content)
    lines = refusal(path).splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:{n}" for n in (3, 4, 5, 7, 8)]
    reasons = ["an object", "not valid JSON", "not UTF-8", "NaN", "twice"]
    assert all(reason in line for reason, line in zip(reasons, lines, strict=True))


def test_a_file_that_is_not_json_lines_at_all_ends_somewhere(tmp_path: Path) -> None:
    lines = refusal(written(tmp_path, "x\n" * 30_000)).splitlines()
    assert len(lines) == 101
    assert lines[-2] == "… and 9,902 more bad lines"
    assert "were not read" in lines[-1]


def test_a_bad_file_is_a_value_error_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not valid JSON"):
        load_dataset(written(tmp_path, "nonsense"))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert str(tmp_path / "none.jsonl") in refusal(tmp_path / "none.jsonl")
    assert str(tmp_path) in refusal(tmp_path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert load_dataset(written(tmp_path, b'\xef\xbb\xbf{"a": 1}\n')) == [{"a": 1}]


def test_a_utf16_file_is_refused(tmp_path: Path) -> None:
    assert "UTF-16" in refusal(written(tmp_path, '{"a": 1}\n'.encode("utf-16")))


@given(st.lists(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text())))
def test_what_was_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, records: list[object]) -> None:
    path = tmp_path_factory.mktemp("set") / "set.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    try:
        assert load_dataset(path) == records
    except UsageError:
        assert any("\\ud" in json.dumps(record) for record in records)  # half a character is not UTF-8


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_a_pipe_that_this_process_was_given_is_read(folder: str) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"a": 1}\n\n{"a": 2}\n')
    os.close(writing)
    try:
        assert load_dataset(f"{folder}/{reading}") == [{"a": 1}, {"a": 2}]
    finally:
        os.close(reading)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_device_as_standard_input_is_refused_and_not_awaited(name: str) -> None:
    kept = os.dup(0)
    with open("/dev/zero", "rb") as endless:
        os.dup2(endless.fileno(), 0)
    try:
        assert "a terminal or a device" in refusal(Path(name))
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_pipe_with_a_name_and_a_descriptor_that_is_not_open_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in refusal(tmp_path / "pipe")
    assert "cannot be read: Bad file descriptor" in refusal(Path("/dev/fd/987654"))
