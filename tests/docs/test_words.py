"""The words of the field: phrases that cost a reader a second stand in no page, help text, error, comment or name.

The glossary (`docs/glossary.md`) has the words that are used instead.
"""

from __future__ import annotations

import io
import re
import tokenize
from functools import cache
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
IN_PROSE = {
    r"\bbesides?\b(?! `)": "next to, in addition to, compared with",
    r"\blikewise\b": "the same",
    r"\b(?:is|are|was|were|be|been|being) asked\b(?! for)|\basks? (?:the|a|another|each|one) model\b": "is called",
    r"\bmodel that is measured\b|\bmeasured model\b": "evaluated model",
    r"\b(?:logs?|tasks?) of Inspect\b": "Inspect log, Inspect task",
    r"\b(?:is|are|as) (?:sent|run|shown|read|written) as (?:it is|they are)\b": "unchanged",
    r"\bsittings?\b": "session, measurement",
    r"\bthe least of\b|\btaken off\b|\bin turns\b": "minimum of, subtracted, alternating",
    r"\bfor ever\b|\bwithout end\b": "forever, unbounded, endless",
    r"\b(?:goes|went|is|are) away\b": "is unavailable, an outage",
    r"\bwaited (?:for|out)\b": "the run waits for",
    r"\b(?:no|some)body(?! else)\b": "name who or what",
    r"\bbrought to \[": "scaled to",
    r"\bluck\b": "chance",
    r"\bheld by\b|\bthat holds it\b|\bheld to\b": "tested by",
    r"\bwritten down\b|\bwrites? (?:it )?down\b": "recorded, stored",
    r"\bread out\b": "extracted",
    r"\bput(?:s)? aside\b": "moves aside",
    r"\b(?:metric|model|file|program|task|listener|variable|class|function)s? of yours\b": "your own metric",
    r"\b(?:metric|model|scorer|program|listener|function|class|code|column)s? of (?:your|its|their) own\b": "your own",
    r"\bvouch": "trust",
    r"\bverbs?\b": "command",
    r"\bword of honou?r\b|\b(?:its|the candidate's|the user's|your) (?:own )?word\b": "claim, consent",
    r"\bone object a line\b|\bJSON object a line\b|\bsample a line\b": "per line",
    r"\b(?:marks|pictures) (?:taken|are made)\b|\bat the margin\b": "screenshots, unindented",
    r"\bwho(?:ever)? (?:wants|asks|left|looks)\b": "users who, processes that",
    r"\bwhat it is for is\b|\ba number nobody gave\b|\bas it was asked\b|\bfrom then on\b": "say it directly",
}
"""Phrases of pages, and of the docstrings, comments and messages of `CHECKED_SOURCE`."""
FOLDERS = {
    "src": ("*.py", "*.js", "*.html", "*.md", "*.yaml"),
    "docs": ("*.md",),
    "examples": ("*.md", "*.py", "*.yaml"),
}
PROSE_FOLDERS = {
    "docs": ("*.md",),
    "examples": FOLDERS["examples"],
}
CHECKED_SOURCE = ("**",)
"""The modules of `src/assay` whose prose has none of the phrases: all of them."""
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Makefile", "action.yml")
GENERATED = ROOT / "docs" / "reference"
TEXT_TOKENS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
FILLED = re.compile(r"\{[^{}\n]*\}")
"""What an f-string fills in: code, not prose."""
CONSOLE = re.compile(r"^```console\n.*?^```", re.MULTILINE | re.DOTALL)


def texts(folders: dict[str, tuple[str, ...]]) -> list[Path]:
    paths = [ROOT / name for name in PAGES]
    for folder, patterns in folders.items():
        paths += [path for pattern in patterns for path in (ROOT / folder).rglob(pattern)]
    return [path for path in paths if "vendor" not in path.parts]


def checked_source() -> list[Path]:
    paths = {path for name in CHECKED_SOURCE for path in (ROOT / "src" / "assay").glob(name)}
    return sorted({file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])})


def prose(path: Path) -> str:
    """What a person wrote for people: a page without the output of its commands; strings and comments of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return prose_of_source(text)
    return CONSOLE.sub(lambda block: "\n" * block.group(0).count("\n"), text)


def prose_of_source(text: str) -> str:
    """Docstrings, messages and comments at the lines where they are, without the code between them."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in TEXT_TOKENS:
            for offset, part in enumerate(FILLED.sub("…", token.string).split("\n")):
                lines[token.start[0] - 1 + offset] += f" {part}"
    return "\n".join(lines)


def lines_with(phrase: str, named: dict[Path, str]) -> list[str]:
    pattern = re.compile(phrase)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:140]}"
        for path, text in named.items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


@cache
def prose_texts() -> dict[Path, str]:
    pages = [path for path in texts(PROSE_FOLDERS) if GENERATED not in path.parents]
    return {path: prose(path) for path in [*pages, *checked_source()]}


@pytest.mark.parametrize("phrase", INSTEAD)
def test_no_text_has_the_phrase(phrase: str) -> None:
    lines = lines_with(phrase, {path: path.read_text(encoding="utf-8") for path in texts(FOLDERS)})
    assert not lines, f"write instead: {INSTEAD[phrase]}\n" + "\n".join(lines)


@pytest.mark.parametrize("phrase", IN_PROSE)
def test_no_page_has_the_phrase(phrase: str) -> None:
    lines = lines_with(phrase, prose_texts())
    assert not lines, f"write instead: {IN_PROSE[phrase]}\n" + "\n".join(lines)


def test_the_code_of_a_module_is_no_prose() -> None:
    source = 'besides = 1  # beside\nprint(f"{besides} luck", """a\nbesides""")\n'
    assert prose_of_source(source).splitlines()[:3] == [" # beside", ' f"… luck" """a', ' besides"""']
