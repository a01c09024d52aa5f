"""A document on one screen: what may be left out is, with its number; what may not is never folded."""

from __future__ import annotations

from assay.pages.document import Items, Sentence, TextTable
from assay.pages.one_screen import one_screen


def lines(*blocks: Sentence | Items | TextTable, most: int) -> list[str]:
    return ["".join(span.text for span in line) for line in one_screen(blocks, 80, most)]


def table(rows: int, folds: tuple[int, ...]) -> TextTable:
    return TextTable(
        header=["task", "score"],
        rows=[[f"t{at}", "0.5"] for at in range(rows)],
        numeric_from=1,
        folds=folds,
        folded="tasks without news",
    )


def test_what_fits_is_shown_as_it_is() -> None:
    assert lines(Sentence("verdict"), table(3, (2, 1)), most=7) == [
        "verdict",
        "",
        "task  score",
        "───────────",
        "t0      0.5",
        "t1      0.5",
        "t2      0.5",
    ]


def test_the_rows_that_say_least_are_folded_first_and_counted() -> None:
    shown = lines(table(8, (5, 3, 1)), most=8)
    assert [line[:2] for line in shown[2:-1]] == ["t0", "t2", "t4", "t6", "t7"]
    assert shown[-1] == "… 3 tasks without news: --verbose shows all"
    assert len(lines(table(8, (5, 3, 1)), most=9)) == 9


def test_a_list_is_folded_from_its_end_where_it_may_be() -> None:
    items = Items([f"note {at}" for at in range(9)], may_fold=True)
    assert lines(Sentence("verdict"), items, most=6) == [
        "verdict",
        "",
        "• note 0",
        "• note 1",
        "• note 2",
        "… 6 more: --verbose shows all",
    ]


def test_where_nothing_more_may_be_folded_the_end_is_counted() -> None:
    shown = lines(table(9, ()), most=5)
    assert shown[-1] == "… 7 more lines: --verbose shows all"
    assert len(shown) == 5
