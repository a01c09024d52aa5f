"""The rule of one screen: summaries take at most 40 lines of 80 columns on a terminal, whatever they are about."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.test_output import terminal
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.cli.main import main
from assay.pages.one_screen import LINES
from assay.pages.text_width import width_of

NUMBER = re.compile(r"(?<![\w.])[+-]?\d\.\d{3}(?![\w.])")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirteen tasks with runs of four models, one of which fails now and then, twelve nights, and fifty more tasks."""
    folder = tmp_path_factory.mktemp("made")
    for number in range(13):
        write_sums(folder / "tasks", f"sums-of-numbers-{number:02}", 20)
    for number in range(50):
        write_sums(folder / "fifty", f"sums-{number:02}", 2)
    models = {"before": Adder(range(8), name="before"), "after": Adder([3, 9], name="after")}
    for name, model in {**models, "flaky": Broken([1, 2, 17], wrong=[5])}.items():
        run_into(folder / "runs" / name, folder / "tasks", model)
    for night in range(12):
        wrong = range(12 if night in (8, 9) else 3 + night % 2)
        run_into(folder / "nights" / f"n{night:02}", folder / "tasks", Adder(wrong, name="nightly"))
    return folder


@pytest.fixture
def at_home(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


SUMMARIES = {
    "run": ["run", "tasks", "--model", "toy"],
    "run of fifty": ["run", "fifty", "--model", "toy"],
    "run of several models": ["run", "tasks", "--model", "toy", "--model", "stub:1"],
    "diff": ["diff", "runs/before", "runs/after"],
    "diff with gates": [
        "diff",
        "runs/before",
        "runs/after",
        "--gate",
        "overall >= 1",
        "--gate",
        "no-significant-drop",
    ],
    "leaderboard of a flaky run": ["leaderboard", "runs/before", "runs/after", "runs/flaky"],
    "history": ["history", "nights"],
    "history of several": ["history", "nights", "runs", "--line-per", "all"],
    "check": ["check", "fifty"],
    "export": ["export", "runs/before", "--output", "rows.csv"],
    "export of some": [
        "export",
        *(f"nights/n{night:02}" for night in range(12)),
        "--where",
        "score<1",
        "--output",
        "x.csv",
    ],
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_is_one_screen(name: str, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, *SUMMARIES[name])
    assert len(lines) <= LINES
    assert max(map(width_of, lines)) <= 80
    assert lines[0].strip(), "it begins with what matters"


@pytest.mark.parametrize("name", ["diff", "leaderboard of a flaky run", "history"])
def test_no_score_of_the_whole_is_printed_twice(name: str, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, *SUMMARIES[name])
    first = next(at for at, line in enumerate(lines) if line.startswith("─"))
    sentences = Counter(found for line in lines[: first - 1] for found in NUMBER.findall(line))
    assert not sentences & Counter(found for line in lines[first:] for found in NUMBER.findall(line))


def test_the_verdict_comes_first_and_rows_without_news_are_counted(
    at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(monkeypatch, *SUMMARIES["diff"])
    assert lines[0].startswith("A → B: ")
    assert lines[-1].startswith("next: assay view runs/before runs/after")
    folded = next(line for line in lines if "--verbose shows all" in line)
    assert re.match(r"… \d+ ", folded)
    assert shown(monkeypatch, *SUMMARIES["check"])[0].startswith("nothing is wrong with 50 tasks")


def test_the_cause_of_failures_comes_first_and_once(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (at_home / "dead.py").write_text(
        "def model(prompt):\n    if len(prompt) % 3 == 0: raise ConnectionError('the line is dead')\n    return '1'\n"
    )
    monkeypatch.syspath_prepend(str(at_home))
    lines = shown(monkeypatch, "run", "tasks", "--model", "dead:model", "--retries", "0", code=3)
    assert len(lines) <= LINES
    assert "attempts failed" in lines[0]
    assert sum("the line is dead" in line for line in lines) == 1
    assert any(line.startswith("next      the same command for the ") for line in lines)


@pytest.mark.parametrize("name", ["diff", "history", "check"])
def test_what_is_asked_for_in_full_is_never_cut(name: str, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--verbose, --markdown and --json."""
    for flag in ("--verbose", "--markdown", "--json"):
        lines = shown(monkeypatch, *SUMMARIES[name], flag)
        assert not any("shows all" in line for line in lines)
    assert json.loads("\n".join(lines))


def test_samples_that_are_asked_for_are_never_cut(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, *SUMMARIES["diff"], "--samples", "4")
    assert len(lines) > LINES
    assert sum(line.startswith("sums-of-numbers-") and "flipped" in line for line in lines) == 13


def shown(monkeypatch: pytest.MonkeyPatch, *command: str, code: int = 0) -> list[str]:
    with terminal(monkeypatch, 80, NO_COLOR="1") as written:
        # what a live panel draws is erased, which this terminal does not do
        quiet = ["--quiet"] if command[0] == "run" else []
        assert main([*command, *quiet]) in (code, 1)
        sys.stdout.flush()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written[0])
    lines = [line.rpartition("\r")[2].rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
