"""`assay.evaluate` over rows: every kind of data, model and scorer, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import UsageError
from assay.formats.table.given_rows import plain_rows

ROWS = [{"q": f"say r{n}", "target": f"r{n}", "n": n} for n in range(6)]
ASKED = {"prompt": "{{ q }}"}


def last_word(prompt: str) -> str:
    return prompt.rsplit(maxsplit=1)[-1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def score(*given: Any, **said: Any) -> float | None:
    return assay.evaluate(*given, **{**ASKED, **said}).leaderboard.overall_score


def frames() -> dict[str, Callable[[], Any]]:
    import pandas
    import polars
    import pyarrow

    return {
        "list": lambda: ROWS,
        "generator": lambda: (row for row in ROWS),
        "pandas": lambda: pandas.DataFrame(ROWS),
        "polars": lambda: polars.DataFrame(ROWS),
        "arrow": lambda: pyarrow.Table.from_pylist(ROWS),
    }


@pytest.mark.parametrize("kind", ["list", "generator", "pandas", "polars", "arrow"])
def test_rows_of_every_kind_are_the_same_run(kind: str, folder: Path) -> None:
    assert score(frames()[kind](), last_word) == 1.0
    assert score(ROWS, last_word) == 1.0
    assert len(list((folder / "runs").iterdir())) == 1


def test_values_that_are_missing_or_not_plain() -> None:
    import numpy
    import pandas

    data = pandas.DataFrame({"a": [1.5, None], "b": ["x", None], "c": [numpy.int64(3), numpy.int64(4)]})
    assert plain_rows(data) == [{"a": 1.5, "b": "x", "c": 3}, {"a": None, "b": None, "c": 4}]
    assert plain_rows([{"day": date(2026, 1, 2), "tags": ("a", "b"), "in": {"x": numpy.float64(0.5)}}]) == [
        {"day": "2026-01-02", "tags": ["a", "b"], "in": {"x": 0.5}}
    ]


def test_several_models_and_prompts_are_runs_with_labels(folder: Path) -> None:
    for name in ("plain", "polite"):
        (folder / f"{name}.txt").write_text(f"{name}: {{{{ q }}}}")
    result = assay.evaluate(ROWS, {"good": last_word, "bad": "stub:no"}, prompt=[Path("plain.txt"), Path("polite.txt")])
    boards = [run.leaderboard for run in result]
    assert [(board.model_label, board.settings["prompt"], board.overall_score) for board in boards] == [
        ("good", "plain", 1.0),
        ("good", "polite", 1.0),
        ("bad", "plain", 0.0),
        ("bad", "polite", 0.0),
    ]


def test_recorded_answers_need_no_model() -> None:
    assert assay.evaluate(ROWS, answers="q", scorer="contains").leaderboard.overall_score == 1.0
    with pytest.raises(UsageError, match="recorded answers call no model"):
        assay.evaluate(ROWS, "toy", answers="q")


def test_a_value_that_a_scorer_reads_makes_it_another() -> None:
    mark = 1.0

    def marked(answer: str, row: Mapping[str, Any]) -> float:
        return mark

    assert score(ROWS, last_word, marked) == 1.0
    mark = 0.0
    assert score(ROWS, last_word, marked) == 0.0


def test_a_lazy_frame_is_collected() -> None:
    import polars

    assert score(polars.LazyFrame(ROWS), last_word) == 1.0


def test_a_running_loop_is_no_obstacle() -> None:
    async def notebook() -> tuple[float | None, float | None]:
        waited = score(ROWS, last_word)
        return waited, (await assay.aevaluate(ROWS, last_word, **ASKED)).leaderboard.overall_score

    assert asyncio.run(notebook()) == (1.0, 1.0)


def test_a_table_in_a_file_takes_the_same_words(folder: Path) -> None:
    (folder / "t.csv").write_text("q,target\nsay yes,yes\n")
    assert score("t.csv", last_word) == 1.0


def test_with_texts_it_is_the_share_of_right_ones() -> None:
    assert assay.evaluate(["The capital is Paris."], ["paris"], "contains") == 1.0
    assert assay.evaluate([], [], "exact") == 0.0
    assert assay.evaluate(predictions=["a"], gold=["b"], mode="exact") == 0.0
    for texts in ([], ["a"]):
        with pytest.raises(ValueError, match="unknown mode: 'exakt'"):
            assay.evaluate(texts, texts, "exakt")


@pytest.mark.parametrize(
    ("given", "said", "message"),
    [
        ((["a b", "b c"], last_word), {}, "a list of texts is predictions, which need gold and a mode"),
        ((["a", "b"], last_word), {}, r"predictions, which need gold and a mode \(exact or contains\); rows are"),
        ((["starter", "nowhere.yaml"], last_word), {}, "nowhere.yaml: no such file or folder"),
        (([], last_word), {}, "there are no rows"),
        ((ROWS, last_word, 42), {}, "int 42 is no scorer: give a name, or a function of"),
        ((ROWS, last_word), {"target": "traget"}, r"unknown column `traget`\. Did you mean `target`\?"),
        (([{"a": 1}, {"b": 2}], last_word), {}, r"row 2 has no `a` \(row 1 has a\)"),
        (([{"a": 1}, 2], last_word), {}, "row 2 is int 2; a row is a mapping"),
        ((ROWS[0], last_word), {}, "a mapping is one row: pass a list of rows"),
        ((ROWS, last_word), {"answers": "q", "prompt": None}, "answers='q': recorded answers call no model"),
        ((ROWS, last_word), {"judge": "toy"}, "the judge `toy` from --judge judges nothing"),
        ((ROWS, last_word, lambda answer: True), {}, r"takes 1 values; a scorer takes \(answer, row\)"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: tuple[Any, ...], said: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, TypeError), match=message):
        score(*given, **said)


def sometimes(prompt: str) -> str:
    if prompt.endswith("r3"):
        raise RuntimeError("the line is down")
    return "r0"


def test_print_says_why_attempts_failed() -> None:
    shown = str(assay.evaluate(ROWS, sometimes, retries=0, **ASKED))
    assert shown.splitlines()[0].endswith("on 1 task; 1 of 6 attempts failed")
    assert "the line is down" in shown


def test_print_of_several_models_is_the_grid_with_their_ranks() -> None:
    result = assay.evaluate(ROWS, {"good": last_word, "bad": sometimes}, retries=0, **ASKED)
    shown = str(result)
    assert "! failed" in shown
    assert "rank  model" in shown
    assert [column.right for column in result.grids()[0].columns] == [6, 1]
    assert "<table" in result._repr_html_()
    assert "the line is down" in shown
