"""What a judge said, read strictly: one verdict or an error, whatever stands around it and however long it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluators.usable_answers import UnusableError, json_object
from assay.scorers.judging.verdict import read_label, read_score

LABELS = ("correct", "incorrect", "N/A")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("correct", "correct"),
        (" **Correct.** ", "correct"),
        ('{"label": "INCORRECT", "why": "…"}', "incorrect"),
        ('Let me think.\n```json\n{"label": "correct"}\n```\nDone.', "correct"),
        ('As {asked}: {"label": "n/a"} it is.', "N/A"),
        ('{"label": "correct"} and again {"label": "correct"}', "correct"),
    ],
)
def test_a_label_is_found_where_a_judge_may_put_it(text: str, label: str) -> None:
    assert read_label(text, LABELS, ("label",))[0] == label


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("it is correct", "not one of the labels"),
        ("correct or incorrect", "not one of the labels"),
        ('{"label": "correct"} no, {"label": "incorrect"}', "different verdicts"),
        ('{"label": "correct", "label": "incorrect"}', "the key 'label' is given twice"),
        ('I say {"label": "correct", "label": "correct"}', "the key 'label' is given twice"),
        ('{"label": "correct", "prediction": "incorrect"}', "different verdicts"),
        ('{"label": ["correct"]}', "not text"),
        ('{"label": null}', "not text"),
        ("  ", "empty"),
        ('{"label": ""}', "empty"),
        ('Such as\n```json\n{"label": "incorrect"}\n```\nMy verdict: {"label": "correct"}', "different verdicts"),
        ('{"draft": {"label": "incorrect"}, "label": "corr', "not one of the labels"),
        ('{"draft": {"label": "incorrect"}, "label": "correct",}', "not one of the labels"),
        ('{"why": "says "no" twice", "draft": {"label": "incorrect"}, "label": "correct"}', "not one of the labels"),
        ('{"label": "correct", "certainty": NaN}', "NaN is not a JSON value"),
    ],
)
def test_anything_else_is_no_verdict(text: str, said: str) -> None:
    with pytest.raises(UnusableError, match=said):
        read_label(text, LABELS, ("label", "prediction"))


def test_labels_that_differ_only_by_case_are_told_apart_or_refused() -> None:
    assert read_label("a", ("a", "A"), ("label",))[0] == "a"
    with pytest.raises(UnusableError):
        read_label("'a'.", ("a", "A"), ("label",))


def test_true_and_false_of_json_are_labels() -> None:
    assert read_label('{"label": true}', ("true", "false"), ("label",))[0] == "true"
    assert read_label('{"label": 3}', (), ("label",))[0] == "3"


@pytest.mark.parametrize(
    ("text", "number"), [("4", 4.0), (" `.5` ", 0.5), ('{"score": 3.5}', 3.5), ('{"score": "2"}', 2.0), ("-0", 0.0)]
)
def test_a_score_is_the_number_alone(text: str, number: float) -> None:
    assert read_score(text, 0, 5)[0] == number


@pytest.mark.parametrize(
    "text",
    [
        "4/5",
        "four",
        "4 of 5",
        "nan",
        "1e1",
        "6",
        "-1",
        '{"score": true}',
        '{"score": 1e999}',
        '{"score": [4]}',
        "",
        "٤٥",
        "٤",
        '{"score": "٤"}',
    ],
)
def test_what_is_not_one_number_in_the_range_is_no_score(text: str) -> None:
    with pytest.raises(UnusableError):
        read_score(text, 0, 5)


def test_an_object_without_the_field_does_not_hide_the_one_that_has_it() -> None:
    assert json_object('{"thoughts": {"score": 1}} {"score": 2}', ("score",)) == {"score": 2}
    assert json_object('{"thoughts": 1}', ("score",)) is None


@pytest.mark.parametrize("part", ['{"a":', "{", "[", "```\n", '{"score": '])
def test_hostile_nesting_is_read_in_bounds(part: str) -> None:
    try:
        assert json_object(part * 30_000, ("score",)) is None
    except UnusableError:
        pass


@given(text=st.text(alphabet='{}[]":,`\n scoreabc0123.', max_size=60))
def test_any_text_is_a_verdict_or_a_verdict_error(text: str) -> None:
    try:
        value, _ = read_score(text, 0, 10)
    except UnusableError:
        return
    assert 0 <= value <= 10
