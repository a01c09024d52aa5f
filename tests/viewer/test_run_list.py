"""The runs of a folder: found, told apart, and forgotten when no one looks."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.viewer.demo_runs import make_demo
from tests.viewer.served import Viewer

from assay.viewer.run_list import IN_MEMORY, RunList

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

READS = ("runs", "run", "samples", "neighbours", "sample", "slices", "compare", "marks")


TRAVERSALS = [
    "../outside",
    "..",
    "/etc/passwd",
    "link",
    "small/../../outside",
    "..%2foutside",
    "small\0",
    "./small",
    "C:\\",
    "~",
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_name_leads_out_of_the_runs_folder(viewer: Viewer, name: str) -> None:
    for what in READS[1:]:
        for params in (
            {"run": name, "key": "1", "by": "task"},
            {"run": ["small", name]},
            {"run": "small", "against": name, "key": name, "by": name},
        ):
            status, _, body = viewer.ask(f"/api/{what}?{urlencode(params, doseq=True)}")
            assert status in (200, 400, 404), (what, params)
            assert b"secret" not in body
            if params["run"] == name:
                assert status == (400 if what == "compare" else 404), (what, params)


def test_runs_of_other_versions_and_broken_ones_are_reported_in_a_sentence(viewer: Viewer) -> None:
    listed = {run["name"]: run for run in viewer.get("runs")["runs"]}
    assert set(listed) == {"small", "large", "hostile", "later", "broken"}
    assert "run.v9" in listed["later"]["error"]
    assert "run.json" in listed["broken"]["error"]
    status, _, body = viewer.ask("/api/run?run=later")
    assert (status, "run.v9" in json.loads(body)["error"]) == (400, True)


def test_runs_looked_at_long_ago_give_their_memory_back(tmp_path: Path) -> None:
    for number in range(IN_MEMORY + 2):
        make_demo(tmp_path / f"run-{number}", each=1)
    run_list = RunList([tmp_path])
    views = [
        run_list.run(f"run-{number}") for number in range(IN_MEMORY + 2) if run_list.run(f"run-{number}").snapshot()
    ]
    assert [view._snapshot is None for view in views] == [True] * 2 + [False] * IN_MEMORY
    assert views[0].snapshot().rows == views[-1].snapshot().rows
