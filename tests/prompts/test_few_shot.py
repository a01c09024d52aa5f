"""Examples are rendered in front of a prompt in one way, and found where an author did so by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.prompts.few_shot import find_embedded_block, render

TWO = [{"prompt": "Q: 1 + 1\nA:", "completion": "2"}, {"prompt": "Q: 2 + 2\nA:", "completion": "4"}]


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([], "Q: 3 + 3\nA:"),
        (TWO[:1], "Q: 1 + 1\nA: 2\n\nQ: 3 + 3\nA:"),
        (TWO, "Q: 1 + 1\nA: 2\n\nQ: 2 + 2\nA: 4\n\nQ: 3 + 3\nA:"),
    ],
)
def test_examples_come_first_with_blank_lines_between(examples: list[dict[str, str]], expected: str) -> None:
    assert render({"prompt": "Q: 3 + 3\nA:", "few_shot_examples": examples}) == expected


def test_a_mapping_without_examples_is_its_prompt() -> None:
    assert render({"prompt": "Say yes."}) == "Say yes."
    with pytest.raises(KeyError):
        render({"few_shot_examples": TWO})


EMBEDDED = [
    ("Q: 1 + 1\nA: 2\n\nQ: 3 + 3\nA:", [], ["line 1", "line 4", "`Q:`"]),
    ("Add up. Question: 1 + 1\nAnswer: 2\nQuestion: 2 + 2\nAnswer:", [], ["line 1", "line 3"]),
    ("Example 1: red\nExample 2: blue\nGo on.", [], ["line 1", "line 2"]),
    ("### Input:\ncat\n### Input:\ndog", [], ["line 1", "line 3"]),
    ("**Question**: a\n**Question**: b", [], ["line 1", "line 2"]),
    ("question: a\nQUESTION : b", [], ["line 1", "line 2"]),
    ("Q: 1 + 1\nA: 2\n\nQ: 3 + 3\nA:", TWO[:1], ["line 1", "few_shot_examples[0]"]),
    ("Q: 9 + 9\nA: 18\n\nQ: 3 + 3\nA:", TWO, ["line 1", "line 4"]),
    ("Text: a\nMood: sad\nText: b\nMood:", [{"prompt": "Text: c\nMood:", "completion": "glad"}], ["line 1", "line 3"]),
    *(
        (f"{asked}: a\n{answer}: yes\n\n{asked}: b\n{answer}:", [], ["line 1", "line 4"])
        for asked, answer in (
            ("Text", "Label"),
            ("User", "Assistant"),
            ("Problem", "Solution"),
            ("Review", "Sentiment"),
            ("文", "訳"),
        )
    ),
    ("Sort them.\nReview: a\nlong one\nSentiment: bad\nReview: b\n**Sentiment**:", [], ["line 2", "line 5"]),
    ("Q. 1 + 1?\nA. 2\n\nQ. 3 + 3?\nA.", [], ["line 1", "line 4", "`Q.`"]),
    ("Q. What is red? A. A colour.\nQ. What is two? A.", [], ["line 1", "line 2"]),
    ("2 + 2 = 4\n13 + 3 = 16\n4 + 4 =", [], ["line 1", "line 3", "its solution"]),
    ("now\n2, 4,\n 6\n3, 6,", [{"prompt": "2, 4,", "completion": "6"}], ["line 2", "few_shot_examples[0]"]),
]


@pytest.mark.parametrize(("prompt", "examples", "shown"), EMBEDDED)
def test_a_block_written_by_hand_is_found_with_both_places(prompt: str, examples: list[Any], shown: list[str]) -> None:
    found = find_embedded_block(prompt, examples)
    assert found is not None
    assert all(words in found for words in shown), found


PLAIN = [
    ("Compute the result. Question: 17 + 24\nAnswer:", []),
    ("Question: what does 'Question:' mean on a form?\nAnswer:", []),
    ("Write f.\nInput: a list\nOutput: a number\nExample: f([1]) == 1", []),
    ("The FAQ: has one. Time: 10:30:45. See http://a.example:80/ too.", []),
    ("Frequently asked question: a\nanother unquestion: b", []),
    ('def f(x):\n    """Pluck x.\n\n    Example 1:\n        Input: 1\n    Example 2:\n        Input: 2\n    """', []),
    ("Q: 3 + 3\nA:", TWO),
    ("Text: a\nText: b", TWO),
    ("Answer: yes or no\nText: a\nAnswer:", []),
    ("From: Ann\nTo: Bob\nSubject: lunch\nReply:", []),
    ("Text: a\nLabel: x\nText: b\nLabel: y\nWhich label is wrong?", []),
    ("Text:\nLabel:\nText:\nLabel:", []),
    ("What is 2, 4, 6 in words?", [{"prompt": "2, 4,", "completion": "6"}]),
    ("If x = 3 and\ny = 4, then\nx + y =", []),
    ("a1 = 2\nb1 = 3\nc1 =", []),
    ("Given 2 + 2 = 4, what is\n3 * 5 =", []),
    ("Dear Q. Smith,\nQ. Jones and A. Brown came.", []),
    ("", []),
]


@pytest.mark.parametrize(("prompt", "examples"), PLAIN)
def test_a_prompt_with_one_question_is_left_alone(prompt: str, examples: list[Any]) -> None:
    assert find_embedded_block(prompt, examples) is None


@given(st.text(), st.lists(st.fixed_dictionaries({"prompt": st.text(), "completion": st.text()}), max_size=3))
def test_no_text_breaks_the_search(prompt: str, examples: list[dict[str, str]]) -> None:
    assert find_embedded_block(prompt, examples) is None or "line" in str(find_embedded_block(prompt, examples))


@given(st.lists(st.sampled_from(["Q: 1 + 1\nA:", "What is up?", "Input: x\nOutput:"]), min_size=1, max_size=3))
def test_what_render_makes_is_found_when_it_is_used_as_a_prompt(questions: list[str]) -> None:
    examples = [{"prompt": question, "completion": "yes"} for question in questions]
    assert find_embedded_block(render({"prompt": "And now?", "few_shot_examples": examples}), examples)


@pytest.mark.parametrize("part", ["Question ", " ", "# ", ". ", "Q 1 ", ":", ": "])
def test_no_prompt_makes_the_search_slow(part: str) -> None:
    # quadratic work on two million characters would run into the test's own time limit
    assert find_embedded_block(part * (2_000_000 // len(part))) is None
