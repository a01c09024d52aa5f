"""Two runs side by side: the comparison is that of the paired statistics."""

from __future__ import annotations

import pytest
from tests.viewer.served import Viewer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_the_comparison_is_that_of_the_paired_statistics(viewer: Viewer) -> None:
    found = viewer.get("compare", run=["small", "large"])["pairs"][0]
    flips = viewer.get("samples", run="small", against="large", flip="flipped")["total"]
    assert found["overall"]["wins"] + found["overall"]["losses"] == flips
    assert found["overall"]["difference"] > 0
    assert all(each["adjusted_p"] >= each["p_value"] for each in found["tasks"])
    back = viewer.get("compare", run=["large", "small"])["pairs"][0]["overall"]
    assert back["difference"] == pytest.approx(-found["overall"]["difference"])


def test_a_sample_is_found_again_in_another_run(viewer: Viewer) -> None:
    row = viewer.get("samples", run="small", against="large", flip="flipped")["rows"][0]
    found = viewer.get("sample", run="small", key=row["key"], against=["large", "hostile"])
    assert found["others"]["large"] == row["others"][0]["key"]
    assert viewer.get("sample", run="large", key=found["others"]["large"])["id"] == row["id"]
