"""A journal line as the viewer shows it."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.viewer.journal_lines import as_record, mapping_in


def test_a_line_is_shown_as_plain_data() -> None:
    assert as_record(b'{"key":"1","line":1,"sum":"00000000"}') == {"key": "1", "line": 1, "sum": "00000000"}


@pytest.mark.parametrize("data", [b"[1]", b"{", b"\xff", b'{"a":"\xff"}', b"[" * 100_000])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    assert mapping_in(data) is None
    with pytest.raises(UsageError, match="not a record"):
        as_record(data)
