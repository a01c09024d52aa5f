"""One run from above."""

from __future__ import annotations

import pytest
from tests.viewer.served import Viewer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_one_run_shows_everything_from_above(viewer: Viewer) -> None:
    run = viewer.get("run", run="small")
    assert [row["task"] for row in run["board"]["tasks"]] == [each["task"] for each in run["distributions"]]
    assert {each["kind"] for each in run["failures"]} == {"model/timeout", "model/rate_limit"}
    assert run["provenance"]["command"].startswith("assay run tasks/ --model openai:small")
    assert [each["key"] for each in run["keys"]][:2] == ["difficulty", "year"]
    by_level = viewer.get("slices", run="small", by="difficulty")
    assert {each["value"] for each in by_level["slices"]} == {"easy", "medium", "hard"}
    assert sum(each["rows"] for each in by_level["slices"]) == run["summary"]["rows"]
    scores = [each["score"]["value"] for each in by_level["slices"]]
    assert scores == sorted(scores)
