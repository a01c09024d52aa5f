"""A line shows that it was changed, and whatever is left of it otherwise is the record."""

from __future__ import annotations

import json
import time

from hypothesis import given
from hypothesis import strategies as st

from assay.storage.checksum import is_intact, number_of, record_of, with_checksums

RECORDS = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text(), max_size=3), min_size=1).map(
    lambda record: json.dumps(record).encode()
)


@given(RECORDS, st.integers(min_value=1, max_value=10**9))
def test_a_line_is_json_and_gives_its_record_and_number_back(record: bytes, number: int) -> None:
    line = with_checksums([record], number)
    found = json.loads(line)
    assert found.pop("line") == number
    assert len(found.pop("sum")) == 8
    assert found == {key: value for key, value in json.loads(record).items() if key not in ("line", "sum")}
    assert record_of(line) == record
    assert number_of(line) == number
    assert is_intact(line)


@given(RECORDS, st.integers(min_value=1, max_value=10**6), st.data())
def test_any_byte_that_is_changed_shows(record: bytes, number: int, data: st.DataObject) -> None:
    line = with_checksums([record], number)
    place = data.draw(st.integers(min_value=0, max_value=len(line) - 1))
    changed = bytearray(line)
    changed[place] ^= data.draw(st.integers(min_value=1, max_value=255))
    assert not is_intact(bytes(changed)), "in the record, in the tail, or the newline"


def test_a_line_that_calls_itself_by_another_number_shows() -> None:
    line = with_checksums([b'{"key":"1"}'], 57)
    assert not is_intact(line.replace(b'"line":57', b'"line":58'))


def test_a_line_without_a_checksum_is_not_intact() -> None:
    assert not is_intact(b'{"key":"1","seconds":0.1}\n')
    assert number_of(b'{"key":"1","seconds":0.1}\n') is None


def test_lines_are_numbered_on() -> None:
    lines = with_checksums([b'{"a":1}', b'{"a":2}', b'{"a":3}'], 9).splitlines(keepends=True)
    assert [number_of(line) for line in lines] == [9, 10, 11]


def test_a_checksum_takes_no_time() -> None:
    records = [b'{"key":"' + b"x" * 1000 + b'"}'] * 1000
    started = time.process_time()
    for _ in range(20):
        with_checksums(records, 1)
    assert (time.process_time() - started) / 20_000 < 20e-6, "a microsecond, where nothing else runs"
