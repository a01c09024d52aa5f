"""`assay plan`: from tasks and a guess, or earlier runs, to samples, requests and money, on one screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main

GUESS = ("--guess", "0.7,disagree=0.15")


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["plan", *arguments, "--json"]) == 0
    plan: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plan


def test_a_plan_fits_on_a_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for number in range(30):
        write_sums(tmp_path / "tasks", f"sums{number}", 20)
    assert main(["plan", str(tmp_path / "tasks"), "--detect", "0.02", *GUESS, "--plain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("overall: finding a true difference of 0.020 takes")


def test_every_task_and_all_together_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [str(write_sums(tmp_path, name, 20)) for name in ("one", "two")]
    plan = planned(capsys, *tasks, "--detect", "0.05", *GUESS, "--repeat", "1,4")
    assert [(row["task"], row["repeat"]) for row in plan["rows"]] == [
        (task, repeat) for task in ("one", "two", "overall") for repeat in (1, 4)
    ]
    assert plan["comparisons"] == 3
    assert plan["cost_unknown"] == "no --model is named"


def test_models_bring_their_comparisons_and_their_prices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = str(write_sums(tmp_path, "sums", 20))
    models = [f"--model=openai:gpt-4o{suffix}" for suffix in ("", "-mini")]
    alone = planned(capsys, task, "--detect", "0.05", *GUESS, models[0])
    both = planned(capsys, task, "--detect", "0.05", *GUESS, *models)
    assert alone["rows"][0]["requests"] == alone["rows"][0]["needed"]
    assert both["rows"][0]["requests"] == 2 * both["rows"][0]["needed"]
    assert both["rows"][0]["cost"] > alone["rows"][0]["cost"] > 0.0


def test_an_earlier_run_says_what_attempts_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = write_sums(tmp_path, "sums", 60)
    run_into(tmp_path / "run", task, Adder(range(20)), repeat=2)
    plan = planned(capsys, str(task), "--detect", "0.1", "--baseline", str(tmp_path / "run"))
    row = plan["rows"][0]
    assert row["requests"] == row["needed"]
    assert plan["at_most"]
    assert "attempts are 0 % of the variance" in plan["advice"][1]


def test_groups_of_samples_count_as_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grouped = write_sums(tmp_path, "grouped", 100, metadata=lambda n: {"group": n // 5})
    alone = write_sums(tmp_path, "alone", 100)
    of_groups, of_samples = (
        planned(capsys, str(task), "--detect", "0.1", *GUESS)["rows"][0]["needed"] for task in (grouped, alone)
    )
    assert of_groups > 4 * of_samples


def test_a_page_has_power_against_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, page = str(write_sums(tmp_path, "sums", 60)), tmp_path / "plan.html"
    assert main(["plan", task, "--detect", "0.1", *GUESS, "--html", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().err
    text = page.read_text()
    assert "the chance to find a difference of 0.100" in text
    assert "<svg" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (GUESS, "--detect DIFFERENCE is missing"),
        (("--detect", "2", *GUESS), "no score is 2 above or below 0.7"),
        (("--detect", "0", *GUESS), "--detect must be more than 0, got 0"),
        (("--detect", "0.1"), "needs --baseline RUN or --guess SCORE"),
        (("--detect", "0.1", *GUESS, "--baseline", "x"), "needs --baseline RUN or --guess SCORE"),
        (("--detect", "0.1", *GUESS, "--repeat", "0"), "--repeat 0: expected numbers of attempts from 1 to 1,000"),
        (("--detect", "0.1", "--baseline", "nowhere"), "nowhere"),
    ],
)
def test_wrong_uses_are_refused_with_what_to_write(
    arguments: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(write_sums(tmp_path, "sums", 5)), *arguments]) == 2
    assert problem in capsys.readouterr().err
