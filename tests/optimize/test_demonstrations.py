"""Few-shot demonstrations come from the dataset alone, and are searched like any other component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.optimize.scripted import SayingProposer, WordEvaluator, fenced

from assay.core.errors import UsageError
from assay.evaluators.payload import CandidateParts
from assay.optimize.demonstrations import Demonstrations, demonstration_of, with_demonstrations
from assay.optimize.run import SearchSettings, optimize

RECORDS = [{"prompt": f"Ticket {number}", "targets": [f"label {number}"]} for number in range(8)]


def test_a_pick_is_the_same_for_the_same_question_and_another_for_another() -> None:
    picker = Demonstrations(RECORDS, 3, 0)
    assert picker.pick("a", ()) == picker.pick("a", ())
    assert len({picker.pick(question, ()) for question in "abcdef"}) > 1
    assert all(picker.pick(question, ()).count("Ticket") == 3 for question in "abc")


def test_half_of_a_pick_is_what_went_worst_and_nothing_is_picked_twice() -> None:
    text = Demonstrations(RECORDS, 4, 0).pick("a", [RECORDS[5], RECORDS[2], RECORDS[1]])
    assert "Ticket 5\nlabel 5" in text
    assert "Ticket 2\nlabel 2" in text
    assert text.count("Ticket") == len({line for line in text.splitlines() if line.startswith("Ticket")}) == 4


def test_records_without_a_prompt_are_shown_unchanged() -> None:
    assert demonstration_of({"q": "ü", "a": 1}) == '{"q": "ü", "a": 1}'


def test_they_go_where_the_text_says_or_come_first() -> None:
    parts = CandidateParts({"text": "A {demonstrations} B", "demonstrations": "D"})
    assert with_demonstrations(parts) == "A D B"
    assert with_demonstrations(CandidateParts({"text": "A", "demonstrations": "D"})) == "D\n\nA"
    other = CandidateParts({"system": "A", "tools": "B"})
    assert with_demonstrations(other) is other
    assert with_demonstrations("plain") == "plain"


def searched(folder: Path, **changes: Any) -> Any:
    """A text is good when it shows the examples 1 and 6."""
    evaluator = WordEvaluator(lambda text, example: sum(f"label {number}" in text for number in (1, 6)) / 2)
    usual: dict[str, Any] = {
        "seed": "Be",
        "dataset": RECORDS,
        "valset": [{"prompt": f"Valset {number}", "targets": ["x"]} for number in range(4)],
        "demonstrations": 3,
        "budget": 400,
        "target_score": 1.0,
    }
    settings = SearchSettings(**{**usual, **changes})
    return optimize(settings, evaluator, SayingProposer(fenced("Be so")), folder=folder, probe=False)


def test_the_search_finds_the_examples_that_help_and_never_shows_the_valset(tmp_path: Path) -> None:
    result = searched(tmp_path)
    assert result.valset.best.mean == 1.0
    shown = result.best_components["demonstrations"]
    assert "label 1" in shown
    assert "label 6" in shown
    assert not any("Valset" in each.text for each in result.lineage)
    assert searched(tmp_path).best == result.best


def test_a_text_is_not_selected_on_the_examples_that_it_shows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="selected on other examples"):
        searched(tmp_path, valset=None)
