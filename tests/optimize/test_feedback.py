"""Whatever the record, everything in it is shown in its share, and what was cut is said."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.types import Failure
from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.feedback import feedback, output_of
from assay.optimize.sets import SetExample


def shown(side_info: dict[str, Any], record: dict[str, Any] | None, room: int = 8000) -> tuple[str, bool]:
    outcome = ScoreOrFailure(score=0.3, side_info=side_info)
    return feedback(outcome, SetExample(part="dataset", index=0, record=record), room)


def test_a_small_record_is_shown_whole_the_most_telling_first() -> None:
    text, cut = shown({"prediction": "no", "reasoning": "why"}, {"q": "2 + 2", "tags": ["a", "b"]})
    assert not cut
    assert text == (
        "## score\n0.3\n\n## reasoning\nwhy\n\n## prediction\nno\n\n"
        "## example\n### q\n2 + 2\n\n### tags\n#### Item 1\na\n\n#### Item 2\nb\n\n"
    )


LARGE = {
    "a long text": {"text": "w" * 50_000},
    "300 strings": {"docs": [f"some words of context number {number}" for number in range(300)]},
    "40 messages": {"messages": [{"role": "user", "content": "turn " * 100} for _ in range(40)]},
    "1000 keys": {f"key {number}": number for number in range(1000)},
    "deep": {"a": {"b": {"c": {"d": ["x" * 3000] * 20}}}},
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("room", [1000, 8000])
def test_a_large_record_leaves_room_for_the_rest_and_is_not_dropped(name: str, room: int) -> None:
    text, cut = shown({"reasoning": "THE-REASON", "output": "THE-OUTPUT"}, LARGE[name], room)
    assert cut
    assert "THE-REASON" in text
    assert "THE-OUTPUT" in text
    assert "## example\n" in text
    assert "left out" in text or "characters in total" in text
    assert len(text) < 1.5 * room + 500


@pytest.mark.parametrize("name", LARGE)
def test_a_long_reasoning_arrives_whole_where_it_fits_and_the_example_is_cut(name: str) -> None:
    reasoning = "HEAD " + "because " * 600 + "TAIL"
    text, cut = shown({"reasoning": reasoning}, LARGE[name])
    assert cut
    assert reasoning in text
    assert text.index("## reasoning\n") < text.index("## example\n")
    assert str(LARGE[name]) not in text


def test_of_a_reasoning_and_an_example_that_are_both_too_long_the_reasoning_has_more_room() -> None:
    text, _ = shown({"reasoning": "HEAD" + "r" * 50_000 + "TAIL"}, {"text": "e" * 50_000}, 2000)
    reasoning, example = text.split("## example\n")
    assert "HEAD" in reasoning
    assert "TAIL" in reasoning
    assert reasoning.count("r") > 1.5 * example.count("e") > 500


def test_large_side_information_does_not_push_the_example_out() -> None:
    text, cut = shown({"log": "l" * 100_000, "trace": ["t" * 900] * 100, "output": "o" * 50_000}, {"q": "THE-QUESTION"})
    assert cut
    assert "THE-QUESTION" in text
    assert all(f"## {name}\n" in text for name in ("log", "trace", "output", "example"))


def test_head_and_tail_of_a_cut_text_are_kept() -> None:
    text, _ = shown({"log": "BEGIN" + "x" * 50_000 + "END"}, None, 2000)
    assert "BEGIN" in text
    assert "END" in text
    assert "(50008 characters in total)" in text


def test_a_failure_says_why_and_repeats_are_reported() -> None:
    failure = Failure(stage="scorer", kind="timeout", message="too slow")
    example = SetExample(part="single", index=0, record=None)
    assert feedback(ScoreOrFailure(score=None, side_info={}, failure=failure), example)[0].startswith(
        "## error\ntoo slow"
    )
    repeated = ScoreOrFailure(score=0.5, side_info={}, repeats=(0.25, 0.75))
    assert "0.25, 0.75" in feedback(repeated, example)[0]


@pytest.mark.parametrize("scores", [[1, 2], {"a": "x"}, {"a": None, "b": 0.5}, "good", 7, None])
def test_sub_scores_of_any_shape_arrive(scores: Any) -> None:
    assert "## scores\n" in shown({"scores": scores}, None)[0]


def test_odd_values_and_names_break_nothing() -> None:
    odd = {"": None, "nan": float("nan"), "empty": [], "none": {}, "deep": [[[[{"a": ["x" * 500]}]]]], "…": 1}
    text, cut = shown(odd, {"": odd, "list": [odd] * 50}, 1000)
    assert cut
    assert len(text) < 6000
    assert shown({}, None)[0] == "## score\n0.3\n\n"


@pytest.mark.parametrize(
    ("side_info", "output"),
    [({"prediction": "yes"}, "yes"), ({"output": {"a": 1}}, '{"a": 1}'), ({"note": "x"}, None)],
)
def test_the_output_is_found_by_its_usual_names(side_info: dict[str, Any], output: str | None) -> None:
    assert output_of(side_info) == output
