"""Filters and orders of the sample table, each against a plain loop over the journal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.viewer.demo_runs import make_demo

from assay.core.errors import UsageError
from assay.results.marks import Mark, append_mark
from assay.viewer.builders import Builders
from assay.viewer.query import Filters, _stable, in_journal_order, sorted_rows
from assay.viewer.run_view import RunView
from assay.viewer.samples import TablePage, neighbours, page

Record = dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunView, RunView]:
    folder, builders = tmp_path_factory.mktemp("query"), Builders()
    small = make_demo(folder / "small", model="small", skill=0.5)
    large = make_demo(folder / "large", model="large", skill=0.9)
    return RunView("small", small, builders), RunView("large", large, builders)


def latest(view: RunView) -> dict[str, Record]:
    lines = [json.loads(line) for line in view.journal.read_text().splitlines()]
    return {line["key"]: line for line in lines}


def score(record: Record) -> float:
    if record.get("failures") or record.get("excluded"):
        return math.nan
    return float(record["scores"][0]["values"]["score"])


def keys(view: RunView, filters: Filters, sort: str = "order", descending: bool = False, *others: RunView) -> list[str]:
    rows = view.rows(filters, sort, descending, list(others)).tolist()
    return [f"{int(view.snapshot().column('key')[row]):016x}" for row in rows]


CASES: list[tuple[Filters, Callable[[Record], bool]]] = [
    (Filters(), lambda r: True),
    (Filters(task=("capitals",)), lambda r: r["task"] == "capitals"),
    (Filters(task=("capitals", "programs")), lambda r: r["task"] in ("capitals", "programs")),
    (Filters(task=("no such task",)), lambda r: False),
    (Filters(outcome=("timeout",)), lambda r: any(f["kind"] == "timeout" for f in r.get("failures", []))),
    (Filters(outcome=("excluded",)), lambda r: bool(r.get("excluded"))),
    (Filters(failure=("model/rate_limit",)), lambda r: any(f["kind"] == "rate_limit" for f in r.get("failures", []))),
    (Filters(meta=(("difficulty", "hard"),)), lambda r: r["metadata"]["difficulty"] == "hard"),
    (Filters(meta=(("year", "2001"),)), lambda r: r["metadata"].get("year") == 2001),
    (
        Filters(meta=(("difficulty", "hard"), ("year", "2001"))),
        lambda r: r["metadata"]["difficulty"] == "hard" and r["metadata"].get("year") == 2001,
    ),
    (Filters(meta=(("no such key", "x"),)), lambda r: False),
    (
        Filters(meta=(("label:judge.grade", "good"),)),
        lambda r: bool(r.get("scores")) and r["scores"][0]["values"].get("grade") == "good",
    ),
    (Filters(low=0.3, high=0.6), lambda r: 0.3 <= score(r) <= 0.6),
    (Filters(high=0.0), lambda r: score(r) <= 0.0),
    (Filters(value="seconds", low=10), lambda r: r["seconds"] >= 10),
    (Filters(value="value:judge.score", low=0), lambda r: bool(r.get("scores")) and r["scores"][0]["name"] == "judge"),
]


@pytest.mark.parametrize(("filters", "holds"), CASES, ids=[str(filters) for filters, _ in CASES])
def test_a_filter_keeps_exactly_what_holds(
    runs: tuple[RunView, RunView], filters: Filters, holds: Callable[[Record], bool]
) -> None:
    small, _ = runs
    assert set(keys(small, filters)) == {key for key, record in latest(small).items() if holds(record)}


@pytest.mark.parametrize(
    "sort", ["score", "seconds", "tokens_out", "tokens_in", "retries", "length", "value:judge.score"]
)
@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_orders_all_rows_and_puts_missing_values_last(
    runs: tuple[RunView, RunView], sort: str, descending: bool
) -> None:
    small, _ = runs
    snapshot, rows = small.snapshot(), small.rows(Filters(), sort, descending, [])
    values = snapshot.column(sort)[rows].tolist()
    there = [value for value in values if not math.isnan(value)]
    assert there == sorted(there, reverse=descending)
    assert all(math.isnan(value) for value in values[len(there) :])
    assert sorted(rows.tolist()) == sorted(small.rows(Filters(), "order", False, []).tolist())


@pytest.mark.parametrize(
    ("flip", "holds"),
    [
        ("flipped", lambda a, b: a != b),
        ("same", lambda a, b: a == b),
        ("better", lambda a, b: b > a),
        ("worse", lambda a, b: b < a),
    ],
)
def test_flips_are_counted_over_samples_that_both_runs_scored(
    runs: tuple[RunView, RunView], flip: str, holds: Callable[[float, float], bool]
) -> None:
    small, large = runs
    mine, theirs = latest(small), latest(large)
    expected = {
        key
        for key, record in mine.items()
        if not record.get("excluded")
        and not math.isnan(score(record))
        and not theirs[key].get("excluded")
        and not math.isnan(score(theirs[key]))
        and holds(score(record), score(theirs[key]))
    }
    assert set(keys(small, Filters(flip=flip), "order", False, large)) == expected
    assert expected or flip == "worse"


def test_flips_need_another_run(runs: tuple[RunView, RunView]) -> None:
    with pytest.raises(UsageError, match="against"):
        keys(runs[0], Filters(flip="flipped"))


def test_the_numbers_are_over_the_rows_that_match(runs: tuple[RunView, RunView]) -> None:
    found = page(runs[0], Filters(outcome=("right",)), TablePage(limit=5), [])
    assert found["summary"]["score"]["value"] == 1.0
    assert found["summary"]["rows"] == found["total"] > len(found["rows"]) == 5


def test_pages_follow_one_another(runs: tuple[RunView, RunView]) -> None:
    small, large = runs
    every = keys(small, Filters(), "score", True)
    pages = [
        page(small, Filters(), TablePage(sort="score", descending=True, offset=offset, limit=7), [large])
        for offset in range(0, len(every), 7)
    ]
    assert [row["key"] for each in pages for row in each["rows"]] == every
    assert all(row["others"][0]["id"] == row["id"] for each in pages for row in each["rows"])


def test_neighbours_are_those_of_the_filtered_table(runs: tuple[RunView, RunView]) -> None:
    wrong = keys(runs[0], Filters(outcome=("wrong",)))
    near = neighbours(runs[0], wrong[1], Filters(outcome=("wrong",)), sort="order", descending=False, others=[])
    assert near == {"position": 1, "total": len(wrong), "previous": wrong[0], "next": wrong[2]}


def test_marks_filter_the_table(tmp_path: Path) -> None:
    view = RunView("run", make_demo(tmp_path / "run", each=6), Builders())
    right = keys(view, Filters(outcome=("right",)))[0]
    wrong = keys(view, Filters(outcome=("wrong",)))[0]
    for key in (right, wrong):
        append_mark(view.folder, Mark(key=key, task="t", sample_id="s", verdict="right"))
    assert set(keys(view, Filters(mark="right"))) == {right, wrong}
    assert keys(view, Filters(mark="disagree")) == [wrong]
    assert len(keys(view, Filters(mark="none"))) == len(keys(view, Filters())) - 2


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-12, 1e300, -1e300])),
        max_size=40,
    )
)
def test_sorting_is_stable_and_exact(values: list[float]) -> None:
    expected = sorted(range(len(values)), key=lambda place: values[place])
    assert [values[place] for place in _stable(np.array(values)).tolist()] == [values[place] for place in expected]
    if len({str(value) for value in values} & {"0.0", "-0.0"}) < 2:
        assert _stable(np.array(values)).tolist() == expected


@pytest.mark.parametrize("different", [3, 400, 5000])
def test_few_and_many_different_values_are_sorted_alike(different: int) -> None:
    values = np.random.default_rng(different).integers(0, different, 6000) / 7
    values[::50] = np.nan
    places = np.arange(len(values))
    for down in (False, True):
        expected = np.argsort(-values if down else values, kind="stable")
        assert sorted_rows(values, down, places).tolist() == expected.tolist()
    some = np.random.default_rng(1).permutation(len(values))[:different]
    assert in_journal_order(some, len(values)).tolist() == sorted(some.tolist())
