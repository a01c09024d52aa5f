"""Documents on a terminal: no line is wider than it, and what has no room is left out in the table's order."""

from __future__ import annotations

import pytest

from assay.pages.document import Heading, Items, Sentence, Span, TextTable
from assay.pages.terminal import Row, terminal_lines
from assay.pages.text_width import width_of

BOARD = TextTable(
    header=["task", "metric", "score", "interval", "total", "ms"],
    rows=[
        ["算数の問題セット", "exact_match", Span("0.812", "key"), "0.700 – 0.900", "1,000", "12.5"],
        ["a-task-with-a-name-that-does-not-end-here", "rouge_l", Span("0.500", "key"), "0.400 – 0.600", "100", "1.0"],
        [Span("overall", "strong"), "", "0.656", "0.600 – 0.700", "", ""],
    ],
    numeric_from=2,
    drops=("ms", "metric", "total"),
)


def text(line: Row) -> str:
    return "".join(span.text for span in line)


def texts(lines: list[Row]) -> list[str]:
    return [text(line) for line in lines]


@pytest.mark.parametrize("width", range(10, 120))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    document = [
        Heading(1, "A → B: a verdict of some length"),
        BOARD,
        Sentence("words " * 40),
        Items(["算数 " * 30, "x"]),
    ]
    assert max(width_of(text(line)) for line in terminal_lines(document, width)) <= width


def test_numbers_stand_below_each_other_whatever_the_script() -> None:
    lines = texts(terminal_lines(BOARD, 120))
    ends = {
        width_of(line[: line.index(score) + 5])
        for line, score in zip(lines[2:], ("0.812", "0.500", "0.656"), strict=True)
    }
    assert len(ends) == 1


def test_columns_are_left_out_in_their_order_and_named() -> None:
    shown = {width: texts(terminal_lines(BOARD, width)) for width in (100, 72, 71, 65, 52)}
    assert [lines[0].split() for lines in shown.values()] == [
        ["task", "metric", "score", "interval", "total", "ms"],
        ["task", "metric", "score", "interval", "total", "ms"],
        ["task", "metric", "score", "interval", "total"],
        ["task", "score", "interval", "total"],
        ["task", "score", "interval"],
    ]
    assert [lines[-1] for lines in shown.values()][2:] == [
        "not shown: ms",
        "not shown: ms, metric",
        "not shown: ms, metric, total",
    ]


def test_a_bar_without_a_name_goes_without_a_word() -> None:
    bars = TextTable(header=["task", "", "parts"], rows=[["a", "█" * 20, "samples 40 %"]], numeric_from=3, drops=("",))
    wide, narrow = ("\n".join(texts(terminal_lines([bars], width))) for width in (80, 24))
    assert "█" in wide
    assert "█" not in narrow
    assert "not shown" not in narrow


def test_names_are_cut_and_numbers_are_not() -> None:
    lines = texts(terminal_lines(BOARD, 40))
    assert lines[3].startswith("a-task-")
    assert "…" in lines[3]
    assert lines[3].endswith("0.500  0.400 – 0.600")


def test_a_cell_is_said_shorter_before_a_column_goes() -> None:
    cells = [Span("0.8 (0.7 – 0.9), 3 weak", shorter=("0.8 (0.7 – 0.9)", "0.8"))] * 2
    table = TextTable(header=["model", "one", "two"], rows=[["m", *cells]], numeric_from=1, drops=("two",))
    assert texts(terminal_lines(table, 60))[2] == "m      0.8 (0.7 – 0.9), 3 weak  0.8 (0.7 – 0.9), 3 weak"
    assert texts(terminal_lines(table, 45))[2] == "m      0.8 (0.7 – 0.9)  0.8 (0.7 – 0.9)"
    assert texts(terminal_lines(table, 30))[2] == "m      0.8  0.8"


def test_columns_that_must_stay_go_on_below_with_the_first_one() -> None:
    names = [f"task-{number}" for number in range(6)]
    table = TextTable(header=["model", *names], rows=[["m", *["0.500"] * 6]], numeric_from=1)
    lines = texts(terminal_lines(table, 30))
    headers = [line.split() for line in lines if line.startswith("model")]
    assert headers == [["model", *names[:3]], ["model", *names[3:]]]
    assert sum(line.startswith("m ") for line in lines) == 2


def test_a_sentence_in_a_cell_is_broken_within_its_column() -> None:
    table = TextTable(
        header=["name", "what"], rows=[["f1", "how many words are shared by both"]], numeric_from=2, prose=["what"]
    )
    assert texts(terminal_lines(table, 22))[2:] == ["f1    how many words", "      are shared by", "      both"]


def test_the_row_of_sums_stands_out_and_styles_stay_with_their_words() -> None:
    lines = terminal_lines(BOARD, 120)
    assert Span("overall", "strong") in lines[4]
    assert Span("0.656", "strong") in lines[4]
    assert Span("0.812", "key") in lines[2]
    item = terminal_lines(Items([("see ", Span("runs/a b", "code"), " for it")]), 12)
    assert item == [
        [Span("• ", "quiet"), Span("see "), Span("runs/a", "code")],
        [Span("  ", "quiet"), Span("b", "code"), Span(" for it")],
    ]


def test_text_of_strangers_is_measured_as_it_will_be_printed() -> None:
    table = TextTable(header=["task", "n"], rows=[["a\x1b[31m\nb", "1"]], numeric_from=1)
    assert texts(terminal_lines(table, 40))[2] == "a\\u001b[31m b  1"
