"""Whatever bytes a reader is given, it answers or refuses in our words; it neither breaks nor hangs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.targets import TARGETS, Target

AWKWARD = [
    b"",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf",
    b"null\n",
    b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 5000,
    b'{"score": 1e999}',
    b'{"score": ' + b"9" * 5000 + b"}",
    b'{"score": NaN}',
    b'{"key": "not hex", "task": "sums", "sample_id": "1", "index": 0}\n',
    b'{"key": "' + b"f" * 400 + b'", "task": "sums", "sample_id": "1", "index": 99999999999999999999}\n',
    b'{"id": "\\ud800"}\n',
    b"a: &a [*a]\n",
    b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
    b"? {a: b}\n: c\n",
    b"!!python/object/apply:os.system [true]\n",
    b"%YAML 9.9\n---\n...\n",
    b"- - - - - - - - - - - - -\n" * 20,
    b"12:30:45: 0x1f\n2026-11-16: ~\n",
]


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
@pytest.mark.parametrize("data", AWKWARD, ids=lambda data: repr(data[:24]))
def test_awkward_bytes_are_refused_or_read(target: Target, data: bytes) -> None:
    target.feed(data)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_the_good_inputs_are_read(target: Target, tmp_path_factory: pytest.TempPathFactory) -> None:
    for seed in target.seeds:
        target.call(seed, tmp_path_factory.mktemp("good"))


@st.composite
def changed(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A good input with a few pieces cut out, repeated, or replaced by something else."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 40)))
        piece = draw(
            st.one_of(st.just(b""), st.binary(max_size=8), st.sampled_from(PIECES), st.just(data[start:stop] * 2))
        )
        data = data[:start] + piece + data[stop:]
    return data


PIECES = [
    b"null",
    b"-1",
    b"1e400",
    b"{}",
    b"[]",
    b'""',
    b"true",
    b"\n",
    b"\r\n",
    b'"',
    b"{",
    b"}",
    b": ",
    b"- ",
    b"\\ud83d",
]
PIECES += [b"18446744073709551616", b"{{ x }}", b"*a", b"&a ", b"!!set ", b"#", b"\t", b"0.0000001", b'"score": "1"']


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
@settings(max_examples=60)
@given(data=st.data())
def test_changed_inputs_are_refused_or_read(target: Target, data: st.DataObject) -> None:
    target.feed(data.draw(changed(list(target.seeds))))
