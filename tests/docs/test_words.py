"""The words of the field: phrases that cost a reader a second stand in no page, help text, error, comment or name.

The glossary (`docs/glossary.md`) has the words that are used instead.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"\bg(?:one|oing) on with\b|\bgo(?:es)? on with\b": "resume, continue",
    r"\b(?:run|command|search) goes on\b|\bgoes on where\b": "resumes",
    r"\bowed\b": "remaining, not yet run",
    r"\basks? nobody\b|\bnobody is asked\b|\basking nobody\b": "calls no model",
    r"\b(?:is|are|was|were|be|been) told\b(?! apart)": "is reported, shown, listed, given",
    r"\btells\b": "reports, prints, shows, lists",
    r"\bmade again\b|\bmakes? only the failed\b": "retried",
    r"\bdead, and in no mean\b": "excluded from the mean",
    r"\bmust not be negative, not\b": "must be 0 or more, got",
    r"\btakes nothing after its name\b|\bsays nothing to (?:it|him)\b": "takes no argument",
    r"\bflatters?\b": "biased upwards",
    r"\bwhat is asked of whom\b": "model and sampling",
    r"\bhow it is looked at\b": "reporting",
    r"\b(?:is|are) dear\b": "expensive",
    r"\bsaid no\b": "refused",
    r"\b(?:Purse|Enduring|Ears|Listening|Judging|Shaped)\b": "SearchBudget, WaitsOutOutages, …",
    r"\b(?:put_together|of_a_part|what_is_wrong|take_batch_size|_told|told)\b(?=\()": "what it is",
    r"--(?:max-answer-tokens|max-cost)\b": "--max-tokens, --budget-cost",
    r"--(?:shots|shots-data|out)\b(?!-)": "--num-fewshot, --fewshot-data, --output",
    r"\bworked examples?\b": "few-shot examples",
    r"\banew\b": "again, from the start",
    r"\bth(?:is|ese) very\b|\bthe very same\b": "exactly this",
    r"\bthe same of (?!the)": "the same for",
    r"\bprocessor time\b": "CPU time",
    r"\bin no mean\b": "excluded from the mean",
    r"(?<!there )\bis no (?:function|metric|file|folder|run|record|number|text|task|list|mapping|model)\b": "is not a",
}
FOLDERS = {
    "src": ("*.py", "*.js", "*.html", "*.md", "*.yaml"),
    "docs": ("*.md",),
    "examples": ("*.md", "*.py", "*.yaml"),
}
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Makefile", "action.yml")


def texts() -> list[Path]:
    found = [ROOT / name for name in PAGES]
    for folder, patterns in FOLDERS.items():
        found += [path for pattern in patterns for path in (ROOT / folder).rglob(pattern)]
    return [path for path in found if "vendor" not in path.parts and path.name != "leaderboard.v1.schema.json"]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_no_text_has_the_phrase(phrase: str) -> None:
    pattern = re.compile(phrase)
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:140]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not lines, f"write instead: {INSTEAD[phrase]}\n" + "\n".join(lines)
