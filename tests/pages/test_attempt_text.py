"""One attempt in a terminal: everything that was said, in its order; in one line, what the sample itself asks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.viewer.rich_runs import few_shot, make_rich, pictured, with_tools

from assay.cli.main import main
from assay.core.types import Message, Record, Trace
from assay.pages.attempt_text import INDENT, attempt_text
from assay.pages.html.page import prompt_block
from assay.pages.text_width import width_of
from assay.results.conversation import beginnings_of
from assay.results.measure import Measure


def test_a_sample_in_full_shows_reasoning_calls_and_results_in_their_order() -> None:
    shown = attempt_text(with_tools(), {}, longest=None).text()
    parts = (
        "user:      Weather in Oslo?",
        "reasoning: I need the weather.",
        'called:    get_weather(city="Oslo")',
        'result:    {"temp": 3}',
        "reasoning: Three degrees.",
        "assistant: It is 3 degrees.",
    )
    assert [shown.index(part) for part in parts] == sorted(shown.index(part) for part in parts)


def test_a_judged_sample_shows_what_was_expected() -> None:
    assert "expected:  Three degrees above zero." in attempt_text(with_tools(), {}, longest=None).text()


def test_pictures_are_named_and_not_printed() -> None:
    shown = attempt_text(pictured(), {}, longest=None).text()
    assert "user:      What colour is this?" in shown
    assert "(image, " in shown
    assert max(map(len, shown.splitlines())) < 200


def test_in_one_line_the_question_is_what_the_sample_itself_asks() -> None:
    records = [few_shot(0, "1", 1), few_shot(1, "2", 1)]
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in records)
    shown = attempt_text(records[0], {}, longest=300, beginnings=beginnings).text()
    assert "input:     Question: Janet's ducks lay" in shown
    assert "How many a week?" in attempt_text(records[0], {}, longest=300).text()


def test_few_shot_examples_that_all_samples_share_are_counted_and_the_question_is_whole() -> None:
    records = [few_shot(0, "1", 1), few_shot(1, "2", 1)]
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in records)
    shown = attempt_text(records[0], {}, longest=None, beginnings=beginnings).text()
    assert "user:      (8 few-shot examples, the same in every sample)\n" in shown
    assert "What is 2 + 2" not in shown
    assert "             Question: Janet's ducks lay 16 eggs a day. How many a week?\n             Answer:\n" in shown
    assert "What is 2 + 2" in attempt_text(records[0], {}, longest=None).text()


def test_so_are_examples_that_are_turns() -> None:
    def asked(question: str) -> Record:
        said = [("system", "Be brief."), ("user", "1 + 1?"), ("assistant", "2"), ("user", question)]
        messages = tuple(Message(role=role, content=content) for role, content in said)
        return msgspec.structs.replace(few_shot(0, "1", 1), trace=Trace(prediction="x", messages=messages))

    records = [asked("3 + 3?"), asked("4 + 5?")]
    beginnings = beginnings_of(msgspec.to_builtins(record) for record in records)
    shown = attempt_text(records[1], {}, longest=None, beginnings=beginnings)
    assert [text for _, text in shown.fields][:4] == [
        "Be brief.",
        "(1 few-shot example, the same in every sample)",
        "4 + 5?",
        "x",
    ]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_on_a_terminal_no_line_is_too_wide_and_what_follows_stands_under_its_beginning(width: int) -> None:
    record = few_shot(0, "112", 1)
    measures = {record.task: Measure(field="score", headline=True, bounds=(0.0, 1.0))}
    shown = attempt_text(record, measures, longest=None)
    lines = ["".join(span.text for span in row) for row in shown.lines(width)]
    assert max(map(width_of, lines)) <= width
    names = ("  user:", "  assistant:", "  input:", "  answer:", "  read as:", "  targets:", "  match:")
    assert all(line.startswith((*names, INDENT)) for line in lines[1:] if line)
    assert [span.style for span in shown.title if span.text == "score 1.000"] == ["good"]


def test_a_report_never_cuts_off_what_a_long_prompt_ends_with() -> None:
    shown = str(prompt_block("worked example. " * 1000 + "How many eggs?"))
    assert "How many eggs?" in shown
    assert "more characters" in shown
    assert len(shown) < 3000


def test_show_prints_the_samples_of_a_run_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_rich(tmp_path / "rich")
    assert main(["show", str(folder), "--sample", "sum-001"]) == 0
    assert "get_weather" in capsys.readouterr().out
