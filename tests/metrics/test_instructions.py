"""Instructions that a program can check: hand-made answers that follow them and answers that do not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.instructions import CHECKS, count_sentences, follows, loose_variants
from assay.metrics.languages import language_of

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


def follows_loosely(text: str, instruction: dict[str, Any]) -> bool:
    return any(follows(variant, instruction) for variant in loose_variants(text))


CASES: list[tuple[str, dict[str, Any], str, bool]] = [
    ("punctuation:no_comma", {}, "No pause here; none at all.", True),
    ("punctuation:no_comma", {}, "A pause, here.", False),
    ("keywords:existence", {"keywords": ["sea", "ship"]}, "The SHIP sails the sea.", True),
    ("keywords:existence", {"keywords": ["sea", "ship"]}, "The ship sails.", False),
    ("keywords:frequency", {"keyword": "ha", "frequency": 3, "relation": "at least"}, "Ha ha, ha!", True),
    ("keywords:frequency", {"keyword": "ha", "frequency": 2, "relation": "less than"}, "ha ha", False),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "Concatenate the strings.", True),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "The Cat sat.", False),
    ("keywords:letter_frequency", {"letter": "z", "let_frequency": 2, "let_relation": "at least"}, "Zzz", True),
    ("keywords:letter_frequency", {"letter": "!", "let_frequency": 1, "let_relation": "less than"}, "no", True),
    ("language:response_language", {"language": "de"}, "Der Hund ist im Garten und die Katze nicht.", True),
    ("language:response_language", {"language": "de"}, "The dog is in the garden and the cat is not.", False),
    ("language:response_language", {"language": "hi"}, "यह एक अच्छा दिन है और मैं खुश हूँ।", True),
    ("language:response_language", {"language": "ur"}, "یہ ایک اچھا دن ہے اور میں خوش ہوں۔", True),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "One. Two!", True),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "less than"}, "Dr. Who left.", True),
    ("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "one two three", True),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "one two three", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n***\nTwo.", True),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n\nTwo.", False),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weekend"},
        'Hello.\n\n"Weekend," he said.',
        True,
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weekend"},
        "Hello.\n\nThe weekend.",
        False,
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] lives at [address].", True),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Dear all\nP. S. Bring cake.", True),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Dear all\nP.S. Bring cake.", False),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n- two\n", True),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n* two\n* three", False),
    ("detectable_format:constrained_response", {}, "Well. My answer is maybe.", True),
    ("detectable_format:constrained_response", {}, "maybe", False),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*one* and **two**", True),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "* one\n* two", False),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSECTION 2\nb",
        True,
    ),
    ("detectable_format:json_format", {}, '```json\n{"a": [1, 2]}\n```', True),
    ("detectable_format:json_format", {}, "{a: 1}", False),
    ("detectable_format:title", {}, "<<A day at sea>>\nIt was warm.", True),
    ("detectable_format:title", {}, "<A day at sea>", False),
    ("combination:two_responses", {}, "One way.\n******\nAnother way.", True),
    ("combination:two_responses", {}, "Same.\n******\nSame.", False),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Write a poem."}, "Write a poem.\nRoses …", True),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Write a poem."}, "Sure! Write a poem.", False),
    ("startend:end_checker", {"end_phrase": "Any other questions?"}, 'Bye. "Any other questions?"', True),
    ("startend:end_checker", {"end_phrase": "Any other questions?"}, "Any other questions? No.", False),
    ("startend:quotation", {}, '"All of it."', True),
    ("startend:quotation", {}, '"Some" of it.', False),
    ("change_case:english_lowercase", {}, "all of this is in small letters.", True),
    ("change_case:english_lowercase", {}, "Almost all of this is.", False),
    ("change_case:english_capital", {}, "ALL OF THIS IS IN CAPITALS!", True),
    ("change_case:english_capital", {}, "ALMOST ALL OF this IS.", False),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        "NASA and the UN agree.",
        True,
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        "NASA and the UN agree.",
        False,
    ),
]


@pytest.mark.parametrize(("kind", "options", "text", "followed"), CASES)
def test_an_instruction_is_followed_or_not(kind: str, options: dict[str, Any], text: str, followed: bool) -> None:
    assert follows(text, {"id": kind, **options}) is followed


def test_every_kind_has_a_case_that_follows_it() -> None:
    assert {kind for kind, _, _, followed in CASES if followed} == set(CHECKS)


@pytest.mark.parametrize("kind", CHECKS)
def test_the_empty_answer_follows_nothing(kind: str) -> None:
    options = next(options for each, options, _, _ in CASES if each == kind)
    assert not follows(" \n", {"id": kind, **options})
    assert not follows_loosely("", {"id": kind, **options})


def test_loosely_a_greeting_and_asterisks_are_forgiven() -> None:
    quoted = {"id": "startend:quotation"}
    text = 'Sure, here it is:\n**"All of it."**'
    assert not follows(text, quoted)
    assert follows_loosely(text, quoted)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("One", 1), ("One. Two? Three!", 3), ("He said: \"Go.\" Then left.", 2), ("1.5 is a number.", 1),
     ("Title\n\nOne sentence.", 2), ("Wait... what?", 2), ("Mr. X met Dr. Y.", 1)],
)  # fmt: skip
def test_sentences_are_counted(text: str, count: int) -> None:
    assert count_sentences(text) == count


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("यो राम्रो छ र म खुसी छु। यो पनि छ।", "ne"),
        ("हे चांगले आहे आणि मी आनंदी आहे.", "mr"),
        ("این خوب است و من خوشحال هستم که در خانه است", "fa"),
        ("هذا جيد في البيت مع الكتاب الذي كان هنا", "ar"),
        ("это хорошо и я не знаю что он сказал", "ru"),
        ("това е добре и той не знае че са тук", "bg"),
        ("이것은 좋습니다", "ko"),
        ("ఇది మంచిది", "te"),
        ("นี่ดี", "th"),
        ("Questo non è il mio libro, ma sono qui con gli amici", "it"),
        ("Isto não é um livro para você, mas está bom", "pt"),
        ("Tämä on hyvä ja se ei ole myös huono", "fi"),
        ("Hii ni nzuri kwa watu na pia katika nyumba ya mama", "sw"),
        ("Đây là một người không có nhà và được cho ăn", "vi"),
        ("12 34", None),
    ],
)
def test_a_language_is_recognized_by_script_and_common_words(text: str, language: str | None) -> None:
    assert language_of(text) == language


@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' original files are not here")
def test_every_instruction_of_the_benchmark_can_be_checked() -> None:
    for line in (DATA / "ifeval" / "input_data.jsonl").read_text().splitlines():
        record = json.loads(line)
        for kind, options in zip(record["instruction_id_list"], record["kwargs"], strict=True):
            given_options = {name: value for name, value in options.items() if value is not None}
            assert follows("some text", {"id": kind, **given_options}) in (True, False)
            assert not follows("", {"id": kind, **given_options})


@given(st.text(max_size=200), st.sampled_from(CASES))
def test_any_text_is_answered_with_yes_or_no(text: str, case: tuple[str, dict[str, Any], str, bool]) -> None:
    instruction = {"id": case[0], **case[1]}
    assert follows(text, instruction) <= follows_loosely(text, instruction)
