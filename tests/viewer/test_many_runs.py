"""Samples of several runs in one table: each run's rows, in one order, with fields that only some of them have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.viewer.demo_runs import make_demo
from tests.viewer.query_run import make_query_run

from assay.core.errors import UsageError
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder: Path = tmp_path_factory.mktemp("many")
    make_demo(folder / "demo", model="demo")
    make_query_run(folder / "query")
    return Api(RunList([folder]))


def rows(api: Api, **asked: str) -> list[dict[str, object]]:
    found = api.samples(Params([("run", "demo"), ("run", "query"), ("limit", "500"), *asked.items()]))
    assert found["total"] == len(found["rows"])
    decoded: list[dict[str, object]] = json.loads(json.dumps(found["rows"]))
    return decoded


def test_every_row_says_whose_it_is(api: Api) -> None:
    assert [row["run"] for row in rows(api)] == ["demo"] * 160 + ["query"] * 6


def test_a_field_of_one_run_may_be_asked_for(api: Api) -> None:
    assert {row["run"] for row in rows(api, q="metadata.steps>=3")} == {"query"}
    assert {row["run"] for row in rows(api, q="metadata.steps>=3 or metadata.year:2001")} == {"demo", "query"}
    with pytest.raises(UsageError, match=r"no field `metadata\.stepps`"):
        rows(api, q="metadata.stepps>=3")


def test_rows_of_all_runs_are_sorted_together_and_those_without_a_value_come_last(api: Api) -> None:
    seconds = [float(str(row["seconds"])) for row in rows(api, sort="seconds", dir="desc")]
    assert seconds == sorted(seconds, reverse=True)
    scores = [row["score"] for row in rows(api, sort="score")]
    there = [score for score in scores if score is not None]
    assert scores == sorted(there, key=float) + [None] * (len(scores) - len(there))
