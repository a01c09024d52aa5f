"""Search: words in any order, the last as a beginning, phrases in quotes; and no query is too odd for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.viewer.demo_runs import make_demo, make_hostile

from assay.viewer.builders import Builders
from assay.viewer.run_view import RunView


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return RunView("run", make_demo(tmp_path_factory.mktemp("words") / "run"), Builders())


def said(view: RunView, query: str) -> list[str]:
    return [str(view.record(row)["trace"]["prediction"]) for row in view.search(query)[0].tolist()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("committee postponed", True),
        ("postponed COMMITTEE", True),
        ("commit", True),
        ("commit ", False),
        ('"the committee met"', True),
        ('"committee the met"', False),
        ("zebra", False),
        ("…!?", False),
    ],
)
def test_words_and_phrases(view: RunView, query: str, expected: bool) -> None:
    assert any("committee" in answer for answer in said(view, query)) is expected


def test_prompts_are_searched_too(view: RunView) -> None:
    assert said(view, "minutes meeting")
    assert said(view, "geography")


def test_what_is_added_later_is_found(tmp_path: Path) -> None:
    folder = make_demo(tmp_path / "run", each=3)
    lines = (folder / "journal.jsonl").read_bytes()
    grown = RunView("run", folder, Builders())
    before = len(grown.search("committee")[0])
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(lines)
    assert len(grown.search("committee")[0]) == 2 * before > 0


@settings(max_examples=60)
@given(query=st.text(max_size=40))
def test_no_query_breaks_search(view: RunView, query: str) -> None:
    hits, reach, _ = view.search(query)
    assert reach == 1.0
    assert len(hits) <= view.snapshot().rows


def test_a_very_long_answer_is_found_by_its_beginning(tmp_path: Path) -> None:
    view = RunView("run", make_hostile(tmp_path / "run"), Builders())
    assert len(view.search("long answer")[0]) == 1
