"""The live panel: what it shows, that it fits whatever terminal there is, and that it leaves nothing behind."""

from __future__ import annotations

import io
import os
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.cli.test_progress import attempt, task

from assay.cli import streams
from assay.cli.live_panel import LivePanel
from assay.core.journal import Journal
from assay.core.types import Completion, Failure, Trace, Usage
from assay.costs.prices import find_prices
from assay.models.pool import RequestState
from assay.pages.text_width import width_of


class Terminal(io.StringIO):
    """A terminal, and everything that was written to it."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    columns_and_lines = [80, 24]
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size(columns_and_lines))
    return columns_and_lines


def panel(stream: io.StringIO) -> LivePanel:
    """Two tasks of four attempts each: of one a right answer, a wrong one and a failure, of the other one answer."""
    made = LivePanel(stream)
    made._totals = {"算数": 4, "texts": 4}
    broken = Failure(stage="model", kind="timeout", message="took\x1b[31m too long")
    made.begin(8, 0, [task("算数", "mean", field="is_right"), task("texts", "bits_per_byte")])
    made.records(
        [
            attempt("算数", is_right=True),
            attempt("算数", is_right=False),
            attempt("算数", is_right=True, failures=(broken,)),
            attempt("texts", bits_per_byte=6.0),
        ]
    )
    return made


def shown(made: LivePanel) -> list[str]:
    return ["".join(span.text for span in row) for row in made.lines(made._started + 2)]


def test_it_shows_tasks_with_scores_and_failures_with_their_last_reason(size: list[int]) -> None:
    made = panel(Terminal())
    made.watch(lambda: RequestState(in_flight=3, limit=8, waiting="m: no answer for 5 s"))
    made.end()
    assert shown(made) == [
        "━━━━━━━━────────  4/8  2 s  2.0/s",
        "  算数   ━━━━━━━━━━━━────  3/4  0.500  (0.095 – 0.905)  1 failed",
        "  texts  ━━━━────────────  1/4  6.000",
        "  1 × timeout  took\\u001b[31m too long",
        "  3 requests in flight, limit 8",
        "  waiting: m: no answer for 5 s",
    ]


def test_a_server_that_hangs_is_visible(size: list[int]) -> None:
    made = panel(Terminal())
    made.watch(lambda: RequestState(in_flight=3, limit=8, waiting=None))
    made.end()
    before, after = (["".join(span.text for span in row) for row in made.lines(made._started + at)] for at in (5, 14.2))
    assert before[-1] == "  3 requests in flight, limit 8"
    assert after[-1] == "  3 requests in flight, limit 8, no attempt finished for 14 s"


def test_where_there_is_little_room_bars_go_first_then_intervals_and_no_number_is_cut(size: list[int]) -> None:
    lines = {}
    for size[0] in (60, 50, 40):
        made = panel(Terminal())
        made.end()
        lines[size[0]] = shown(made)[1]
    assert lines == {
        60: "  算数   ━━━━━━──  3/4  0.500  (0.095 – 0.905)  1 failed",
        50: "  算数   3/4  0.500  (0.095 – 0.905)  1 failed",
        40: "  算数   3/4  0.500  1 failed",
    }


def test_a_resumed_run_counts_what_earlier_sessions_made(size: list[int], tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    broken = Failure(stage="model", kind="timeout", message="late")
    definition = task("sums", "mean", field="is_right")
    with closing(Journal(journal)) as opened:
        for key, failures in ("1", ()), ("2", ()), ("3", (broken,)):
            record = attempt("sums", is_right=True, failures=failures)
            opened.append([msgspec.structs.replace(record, key=key)])
    made = LivePanel(Terminal())
    made._totals, made._journal = {"sums": 4}, journal
    made.begin(4, 2, [definition])
    made.records([attempt("sums", is_right=False)])
    made.end()
    assert shown(made)[1].startswith("  sums  ━━━━━━━━━━━━────  3/4  0.667")


def test_it_shows_tokens_and_what_they_cost_and_will_cost(size: list[int]) -> None:
    made = LivePanel(Terminal())
    made._model, made._prices = "gpt-4o-mini", find_prices()
    made.begin(4, 0, [task("sums", "mean", field="is_right")])
    answer = Completion(text="2", tokens_in=1_000_000, tokens_out=0)
    trace = Trace(prediction="2", completions=(answer,))
    made.records([msgspec.structs.replace(attempt("sums", is_right=True), trace=trace)])
    made.end()
    assert shown(made)[-1].startswith("  1,000,000 tokens in, 0 out   $0.15 so far, about $0.6 in total")


def test_it_adds_no_money_of_two_currencies(size: list[int], tmp_path: Path) -> None:
    size[:] = 200, 24
    prices = "date: 2026-11-01\ncurrency: EUR\nmodels: {mine: {input: 1.0, output: 1.0}}\n"
    (tmp_path / "prices.yaml").write_text(prices)
    made = LivePanel(Terminal())
    made._model, made._prices = "mine", find_prices(tmp_path / "prices.yaml")
    made.begin(4, 0, [task("sums", "mean", field="is_right")])
    answer = Completion(text="2", tokens_in=1_000_000, tokens_out=0)
    judged = Usage(model="gpt-4o-mini", answers=1, tokens_in=1_000_000)
    trace = Trace(prediction="2", completions=(answer,))
    made.records([msgspec.structs.replace(attempt("sums", is_right=True), trace=trace, usage=(judged,))])
    made.end()
    assert "cost unknown: prices are in EUR and USD" in shown(made)[-1]


@pytest.mark.parametrize("columns", [1, 7, 20, 40, 80, 200])
@pytest.mark.parametrize("lines", [1, 2, 4, 24])
def test_it_fits_any_terminal(size: list[int], columns: int, lines: int) -> None:
    size[:] = columns, lines
    made = panel(Terminal())
    made.end()
    assert len(shown(made)) <= max(lines - 1, 1)
    assert all(width_of(line) < max(columns, 2) for line in shown(made))


def test_what_is_said_stands_above_it_and_its_end_leaves_nothing(size: list[int]) -> None:
    stream = Terminal()
    talk = streams._Talk(stream)
    made = panel(talk)  # type: ignore[arg-type]
    streams.draw(talk, made.lines(made._started + 2), styled=False)  # type: ignore[arg-type]
    made.say("a sentence")
    made.end()
    assert screen(stream.getvalue()) == ["a sentence"]
    assert "\x1b[?25" not in stream.getvalue(), "the cursor is never hidden"


def test_lines_that_wrap_since_the_terminal_became_narrower_are_taken_away_too(size: list[int]) -> None:
    stream = Terminal()
    talk = streams._Talk(stream)
    talk.draw([30, 10], "x\x1b[K\ny\x1b[K\n")
    size[0] = 20
    talk.draw([5], "z\x1b[K\n")
    assert "\r\x1b[3Az" in stream.getvalue()


def screen(written: str) -> list[str]:
    """What a terminal shows of it: as much of one as the panel uses."""
    rows, row, position = [""], 0, 0
    while position < len(written):
        character = written[position]
        position += 1
        if character == "\x1b":
            end = next(at for at in range(position + 1, len(written)) if written[at].isalpha())
            if written[end] == "A":
                row -= int(written[position + 1 : end])
            elif written[end] == "J":
                rows = [*rows[:row], ""]
            position = end + 1
        elif character == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif character != "\r":
            rows[row] += character
    return [line for line in rows if line]
