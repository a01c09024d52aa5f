"""Long answers come cut, and whole on request."""

from __future__ import annotations

import pytest
from tests.viewer.served import Viewer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_long_answers_come_cut_and_whole_on_request(viewer: Viewer) -> None:
    row = viewer.get("samples", run="hostile", q="long answer")["rows"][0]
    cut = viewer.get("sample", run="hostile", key=row["key"])
    assert len(cut["record"]["trace"]["prediction"]) == 100_000
    assert {each["length"] for each in cut["cut"]} == {5_000_012}
    whole = viewer.get("sample", run="hostile", key=row["key"], whole=1)
    assert len(whole["record"]["trace"]["prediction"]) == 5_000_012
