"""What queries find in a run: the cases that the page's own engine is tested by as well, and columns of every size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journals import add_lines
from tests.viewer.demo_runs import make_demo
from tests.viewer.query_run import CASES, full_key, make_query_run

from assay.results.query.syntax import QueryError, is_like
from assay.viewer import rows
from assay.viewer.builders import Builders
from assay.viewer.packed_texts import PackedTexts
from assay.viewer.query import Filters
from assay.viewer.run_view import RunView


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    folder = make_query_run(tmp_path_factory.mktemp("query") / "run")
    return RunView("run", folder, Builders())


def found(view: RunView, where: str) -> list[str]:
    chosen = view.rows(Filters(where=where), "order", False, [])
    return [f"{int(view.snapshot().column('key')[row]):016x}" for row in sorted(chosen.tolist())]


@pytest.mark.parametrize("case", CASES["cases"], ids=[case["query"] for case in CASES["cases"]])
def test_a_query_finds_what_it_says(view: RunView, case: dict[str, Any]) -> None:
    assert found(view, case["query"]) == [full_key(key) for key in case["keys"]]


@pytest.mark.parametrize("case", CASES["errors"], ids=[case["query"] for case in CASES["errors"]])
def test_an_error_points_at_its_column(view: RunView, case: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match=f"column {case['at'] + 1}:") as error:
        found(view, case["query"])
    assert error.value.at == case["at"]


def test_cost_is_what_the_tables_of_python_say(tmp_path: Path) -> None:
    from assay.results.frames.frame_source import RunSource

    folder = make_demo(tmp_path / "run", model="gpt-4o-mini", each=20)
    prices = "date: 2026-01-01\nmodels:\n  gpt-4o-mini: {input: 1000, output: 20000, cached_input: 500}\n"
    (folder / "prices.yaml").write_text(prices)
    view = RunView("run", folder, Builders())
    costs = view.numbers("cost")
    keys = view.snapshot().column("key").tolist()
    expected = {int(each.record.key, 16): each.cost for each in RunSource.of(folder).attempts()}
    mine = {key: None if np.isnan(cost) else cost for key, cost in zip(keys, costs.tolist(), strict=True)}
    assert any(cost and cost.amount for cost in expected.values())
    assert {key: cost and cost.amount for key, cost in expected.items()} == pytest.approx(
        {key: mine[key] for key in expected}
    )


def test_a_star_finds_texts_of_columns_with_more_of_them_than_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts beyond are packed; also when a chunk began before there were too many."""
    monkeypatch.setattr(rows, "VALUES_KEPT", 5)
    monkeypatch.setattr("assay.viewer.columns.VALUES_KEPT", 5)
    monkeypatch.setattr("assay.viewer.index.CHUNK_ROWS", 8)
    folder = make_query_run(tmp_path / "run")
    journal = folder / "journal.jsonl"
    model = json.loads(journal.read_text().splitlines()[2])
    lines = [
        {**model, "key": f"{n:016x}", "index": n, "metadata": {"url": f"site-{n:02}/page"} if n % 3 else {}}
        for n in range(30)
    ]
    journal.write_text("")
    view = RunView("run", folder, Builders())
    for start in range(0, 30, 5):  # it grows, as a run does
        add_lines(journal, *lines[start : start + 5])
        view.snapshot()
    expected = [f"{n:016x}" for n in range(30) if n % 3 and f"{n:02}".endswith("1")]
    assert found(view, "metadata.url:site-*1/p*") == expected
    assert found(view, "url:site-22/page") == [f"{22:016x}"]
    assert len(found(view, "not url:*")) == 10


parts = st.lists(st.text("ab", max_size=5), min_size=2, max_size=4)


@settings(max_examples=150)
@given(texts=st.lists(st.text("abü", max_size=9), max_size=6), parts=parts)
def test_packed_texts_match_as_texts_do(texts: list[str], parts: list[str]) -> None:
    packed = PackedTexts.of(texts)
    assert packed.like(parts).tolist() == [is_like(text, parts) for text in texts]
    assert packed.equal("ab").tolist() == [text == "ab" for text in texts]
