"""One attempt in a terminal: everything that was said, in its order; in one line, what the sample itself asks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.viewer.rich_runs import few_shot, make_rich, pictured, with_tools

from assay.cli.main import main
from assay.reports.attempt_text import attempt_text
from assay.reports.conversation import beginnings_of
from assay.reports.html.page import asked


def test_a_sample_in_full_shows_reasoning_calls_and_results_in_their_order() -> None:
    shown = attempt_text(with_tools(), {}, longest=None)
    parts = (
        "asked:     Weather in Oslo?",
        "reasoning: I need the weather.",
        'called:    get_weather({"city": "Oslo"})',
        'result:    {"temp": 3}',
        "reasoning: Three degrees.",
        "answered:  It is 3 degrees.",
    )
    assert [shown.index(part) for part in parts] == sorted(shown.index(part) for part in parts)


def test_a_judged_sample_shows_what_was_expected() -> None:
    assert "expected:  Three degrees above zero." in attempt_text(with_tools(), {}, longest=None)


def test_pictures_are_named_and_not_printed() -> None:
    shown = attempt_text(pictured(), {}, longest=None)
    assert "asked:     What colour is this?" in shown
    assert "(image, " in shown
    assert max(map(len, shown.splitlines())) < 200


def test_in_one_line_the_question_is_what_the_sample_itself_asks() -> None:
    records = [few_shot(0, "1", 1), few_shot(1, "2", 1)]
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in records)
    shown = attempt_text(records[0], {}, longest=300, beginnings=beginnings)
    assert "asked:     Question: Janet's ducks lay" in shown
    assert "How many a week?" in attempt_text(records[0], {}, longest=300)


def test_a_report_never_cuts_off_what_a_long_prompt_ends_with() -> None:
    shown = str(asked("worked example. " * 1000 + "How many eggs?"))
    assert "How many eggs?" in shown
    assert "more characters" in shown
    assert len(shown) < 3000


def test_show_prints_the_samples_of_a_run_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_rich(tmp_path / "rich")
    assert main(["show", str(folder), "--sample", "sum-001"]) == 0
    assert "get_weather" in capsys.readouterr().out
