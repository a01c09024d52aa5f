"""A comparison in Markdown: text of models stays text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.pages.charts.figure import page_script
from assay.pages.documents.diff import answers, diff_document
from assay.pages.html.diff_page import diff_page as html_page
from assay.pages.markdown import markdown
from assay.results.diff.comparison import diff
from assay.results.diff.differences import Flip


@pytest.mark.parametrize("said", ["<script>alert(1)</script>", "</style><b>x", "a | b\nc", '"><img src=x>'])
def test_what_a_model_said_stays_text(said: str, tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 3)
    run_into(tmp_path / "a", tasks, Adder())
    run_into(tmp_path / "b", tasks, Adder([1], says=said))
    found = diff(tmp_path / "a", tmp_path / "b")
    page = html_page(found).replace(f"<script>{page_script()}</script>", "", 1)  # the only one, which is ours
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert "<img" not in page
    table = [line for line in markdown(diff_document(found)).splitlines() if line.startswith("| s1")]
    assert len(table) == 1
    assert table[0].replace("\\|", "").count("|") == 6


THOUGHTS = "Let us think step by step: Janet has sixteen eggs, eats three and bakes with four of them every day. "


def flip(a: str | None, b: str | None, read_a: str | None = None, read_b: str | None = None) -> Flip:
    return Flip(
        id="s",
        attempt=1,
        score_a=1.0,
        score_b=0.0,
        prediction_a=a,
        prediction_b=b,
        targets=("230",),
        prompt_a="q",
        prompt_b="q",
        same_prompt=True,
        same_targets=True,
        better=False,
        answer_a=read_a,
        answer_b=read_b,
    )


def test_what_was_extracted_from_the_answers_is_shown_where_it_differs() -> None:
    assert answers(flip(THOUGHTS + "So 230.", THOUGHTS + "So 242.", "230", "242")) == ("230", "242")


def test_else_the_texts_are_shown_from_where_they_part() -> None:
    a, b = answers(flip(THOUGHTS + "So 230.", THOUGHTS + "So 242."))
    assert (a, b) == ("… every day. So 230.", "… every day. So 242.")
    assert answers(flip("yes", "no", "y", "y")) == ("yes", "no")
    assert answers(flip("", None)) == ("(empty)", "–")
