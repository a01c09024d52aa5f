"""The post-process rules of the catalog, each by its cases and by what holds for any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import CATALOG, resolve
from assay.metrics.post_process import extract_code_block, nothing_extracted

CASE_FILE = Path(__file__).parent / "cases" / "post_process.jsonl"
CASES = [json.loads(line) for line in CASE_FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}-{case['text'][:20]!r}")
def test_rules_give_the_results_of_their_cases(case: dict[str, str]) -> None:
    assert resolve("post_process", case["rule"])(case["text"]) == case["result"]


def test_every_rule_of_the_catalog_has_cases() -> None:
    assert {case["rule"] for case in CASES} == {*CATALOG["post_process"]}


@pytest.mark.parametrize("rule", CATALOG["post_process"])
@given(text=st.text(alphabet=st.sampled_from("`\n AB-x'é \t\r[]{}().,:0179$\\*#Qanswer"), max_size=80))
def test_rules_take_any_text_and_add_nothing(rule: str, text: str) -> None:
    result = resolve("post_process", rule)(text)
    spelt = 1 if rule == "extract_final_number" else 0  # `.5` is read as 0.5
    assert len(result) <= len(text) + spelt
    assert set(result) <= {*text, *text.lower(), *text.upper(), *"0" * spelt}


@given(code=st.text(alphabet=st.characters(blacklist_characters="`\r", blacklist_categories=["Cs"])))
def test_fenced_code_comes_back_as_it_was(code: str) -> None:
    assert extract_code_block(f"Here:\n```python\n{code}\n```\nDone.") == code


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
    assert nothing_extracted(text, rule, resolve("post_process", rule)(text)) is nothing
