"""What can be sent to another process, and comes out there as it went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.scorers.hosts import is_plain


@pytest.mark.parametrize("value", [None, "a", 1, 1.5, True, {"a": [1, {"b": None}]}, []])
def test_what_json_gives_back_is_plain(value: Any) -> None:
    assert is_plain(value)


@pytest.mark.parametrize("value", [(1,), {1: 2}, {"a": {1, 2}}, b"", float("nan"), [float("inf")], Path(), {"a": (1,)}])
def test_what_json_changes_is_not(value: Any) -> None:
    assert not is_plain(value)
