"""JSON is read strictly: what breaks a rule is named, what keeps them all is the value any decoder gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.reading.strict_json import MAX_DEPTH, StrictJsonError, decode_strictly, read_lines, read_lines_at

REFUSED = [
    (b"", "bad_json"),
    (b"{", "bad_json"),
    (b"{'a': 1}", "bad_json"),
    (b'{"a": 1} x', "bad_json"),
    (b'{"a": NaN}', "bad_json"),
    (b'{"a": [Infinity]}', "bad_json"),
    (b'{"a": -Infinity}', "bad_json"),
    (b'{"a": 1e999}', "bad_json"),
    (b'{"a": "\\ud800"}', "bad_json"),
    (b'{"a": "\n"}', "bad_json"),
    (b'{"a": ' + b"1" * 5000 + b"}", "bad_json"),
    (b'\xef\xbb\xbf{"a": 1}', "bad_json"),
    (b'{"a": "\xff"}', "not_utf8"),
    (b'{"\xc3": 1', "not_utf8"),
    (b'\xff\xfe{\x00"\x00', "not_utf8"),
    (b'["\xed\xa0\x80"]', "not_utf8"),
    (b'{"a": 1, "a": 2}', "duplicate_key"),
    (b'{"a": 1, "\\u0061": 2}', "duplicate_key"),
    (b'{"a" : 1, "a" : 2}', "duplicate_key"),
    (b'{"a"\t: 1, "b": ":", "a"\t: 2}', "duplicate_key"),
    (b'[{"b": {"a":1,"a":1}}]', "duplicate_key"),
    (b'{"x\\\\": 1, "a" : 1, "a": 2}', "duplicate_key"),
    (b'{"a": ": \\": \\":", "b": {"c": 1, "c": 2}}', "duplicate_key"),
    (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "too_deep"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
    (b"[" * 1_000_000, "too_deep"),
]


@pytest.mark.parametrize(("text", "rule"), REFUSED, ids=[f"{rule}-{n}" for n, (_, rule) in enumerate(REFUSED)])
def test_a_text_that_breaks_a_rule_is_refused_by_name(text: bytes, rule: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        decode_strictly(text)
    assert caught.value.rule == rule
    assert caught.value.detail


def test_nesting_up_to_the_bound_is_read() -> None:
    text = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert decode_strictly(text) == json.loads(text)


def test_many_containers_side_by_side_are_not_deep() -> None:
    assert decode_strictly(b"[" + b"[{}]," * 500 + b"1]")[-1] == 1


finite = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    finite | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_good_json_reads_as_any_decoder_reads_it(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, separators=(",", " :"))
    assert decode_strictly(text.encode()) == json.loads(text)


@given(st.dictionaries(words, values, min_size=1, max_size=3), st.sampled_from(['":', '" :', '"\t:']), st.data())
def test_a_key_given_twice_is_always_seen(value: dict[str, Any], colon: str, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    twice = json.dumps(value)[:-1] + ", " + json.dumps(key)[:-1] + colon + "0}"
    for text in (twice, f"[{twice}]", '{"outer": [' + twice + "]}"):
        with pytest.raises(StrictJsonError) as caught:
            decode_strictly(text.encode())
        assert caught.value.rule == "duplicate_key"


@given(st.binary())
def test_arbitrary_bytes_are_a_value_or_a_named_rule(text: bytes) -> None:
    rule = None
    try:
        decode_strictly(text)
    except StrictJsonError as error:
        rule = error.rule
    assert rule in {None, "bad_json", "not_utf8", "duplicate_key", "too_deep"}


LINES = [
    (b"", []),
    (b"a", [(1, b"a")]),
    (b"a\nb\n", [(1, b"a"), (2, b"b")]),
    (b"a\r\nb\r\n", [(1, b"a"), (2, b"b")]),
    (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", [(1, b"a"), (2, b"\xef\xbb\xbfb")]),
    (b"\n \t\na\n\r\n\nb", [(3, b"a"), (6, b"b")]),
]


@pytest.mark.parametrize(("content", "expected"), LINES)
def test_lines_keep_their_numbers(tmp_path: Path, content: bytes, expected: list[tuple[int, bytes]]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert [(line.number, line.content) for line in read_lines(path)] == expected


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_line_is_found_again_where_it_begins_whatever_the_file_begins_with(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(start + b"one\n\ntwo\n")
    lines = list(read_lines(path))
    assert [line.content for line in lines] == [b"one", b"two"]
    assert list(read_lines_at(path, [line.offset for line in lines])) == [b"one\n", b"two\n"]
    assert [line.content for line in read_lines(path, offset=lines[1].offset, number=2)] == [b"two"]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize(("length", "too_long"), [(9, False), (10, False), (11, True), (12, True), (5000, True)])
def test_a_line_too_long_is_reported_and_the_next_one_read(
    tmp_path: Path, length: int, too_long: bool, ending: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * length + ending + (b"next" if ending else b""))
    lines = list(read_lines(path, max_bytes=10))
    assert lines[0].too_long is too_long
    assert [(line.number, line.content) for line in lines[1:]] == ([(2, b"next")] if ending else [])


def test_what_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.jsonl: cannot be read: No such file"):
        list(read_lines(tmp_path / "gone.jsonl"))
    with pytest.raises(UsageError, match="is a folder, not a regular file"):
        list(read_lines(tmp_path))
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(UsageError, match="cannot be read"):
            list(read_lines(tmp_path / name))
