"""The post-process rules, each by its cases and by what holds for any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.post_process import POST_PROCESS, extract_code_block, nothing_extracted, post_process

CASE_FILE = Path(__file__).parent / "cases" / "post_process.jsonl"
CASES = [json.loads(line) for line in CASE_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}-{case['text'][:20]!r}")
def test_rules_give_the_results_of_their_cases(case: dict[str, str]) -> None:
    assert post_process(case["text"], case["rule"]) == case["result"]


def test_the_vocabulary_is_closed() -> None:
    assert [*POST_PROCESS] == [
        "none", "strip_whitespace", "lower", "extract_letter", "extract_code_block", "extract_first_line",
    ]  # fmt: skip


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown post-process rule `extract_leter`. Did you mean `extract_letter`\?"):
        post_process("B", "extract_leter")
    with pytest.raises(ValueError, match="Known: none, strip_whitespace"):
        post_process("B", "zzzz")


@given(text=st.text(alphabet=st.sampled_from("`\n AB-x'é \t\r"), max_size=60), rule=st.sampled_from([*POST_PROCESS]))
def test_rules_take_any_text_and_add_nothing(text: str, rule: str) -> None:
    result = post_process(text, rule)
    assert len(result) <= len(text)
    assert set(result) <= set(text) | set(text.lower())


@given(code=st.text(alphabet=st.characters(blacklist_characters="`\r", blacklist_categories=["Cs"])))
def test_fenced_code_comes_back_as_it_was(code: str) -> None:
    assert extract_code_block(f"Here:\n```python\n{code}\n```\nDone.") == code


def test_a_long_text_of_backticks_or_blanks_takes_no_time() -> None:
    for text in ("`" * 200_000, " " * 200_000 + "x", "``\n" * 100_000, "```\n" + "    \n" * 50_000):
        for rule in POST_PROCESS:
            post_process(text, rule)


@pytest.mark.parametrize(
    ("text", "rule", "nothing"),
    [
        ("no idea", "extract_letter", True),
        ("B", "extract_letter", False),
        (" \n ", "extract_first_line", True),
        ("x", "extract_first_line", False),
        ("def f(x): ...", "extract_code_block", False),
        ("```\n\n```", "extract_code_block", True),
        (" \n", "extract_code_block", True),
        ("", "strip_whitespace", False),
        ("", "none", False),
    ],
)
def test_only_extracting_rules_can_find_nothing(text: str, rule: str, nothing: bool) -> None:
    assert nothing_extracted(text, rule, post_process(text, rule)) is nothing
