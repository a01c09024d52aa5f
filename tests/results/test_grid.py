"""Rows against models and prompts: every row is counted, and those that are not right everywhere are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

from assay.results.grid import grids_of

MODELS = """
def good(prompt):
    return prompt.split()[-1]

def bad(prompt):
    if prompt.endswith("r2"):
        raise RuntimeError("down")
    return prompt.split()[-1] if prompt.endswith(("r0", "r1")) else "no idea at all"
"""


STOPS = """
import os
import signal

def answer(prompt):
    if prompt.endswith("r3"):
        os.kill(os.getpid(), signal.SIGINT)
    return prompt.split()[-1]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    (folder / "m.py").write_text(MODELS)
    (folder / "rows.csv").write_text("question,target\n" + "".join(f"say r{n},r{n}\n" for n in range(20)))
    (folder / "plain.txt").write_text("{{ question }}")
    (folder / "polite.txt").write_text("Please {{ question }}")
    return folder


def ran(project: Path, *flags: str) -> tuple[int, str, str]:
    done = assay("run", "rows.csv", "--model", "m:good", "--model", "m:bad", "--retries", "0", *flags, cwd=project)
    return done.returncode, done.stdout, done.stderr


def test_the_grid_counts_every_row_and_shows_those_that_are_not_right_everywhere(project: Path) -> None:
    code, _, stderr = ran(project)
    assert code == 3, stderr
    (grid,) = grids_of(sorted((project / "runs").glob("m-*-rows-*")))
    bad, good = grid.columns
    assert (bad.label, bad.right, bad.answered, bad.failed) == ("m:bad", 2, 19, 1)
    assert (good.label, good.right, good.answered) == ("m:good", 20, 20)
    assert (grid.count, grid.differ, grid.right_everywhere, grid.wrong_everywhere) == (20, 18, 2, 0)
    assert [row.text for row in grid.rows] == [f"say r{n}" for n in range(2, 20)]
    first = grid.rows[0]
    assert (first.expected, [cell and cell.outcome for cell in first.cells]) == ("r2", ["failed", "right"])


def test_the_command_prints_one_screen_with_the_verdict_first(project: Path) -> None:
    _, stdout, stderr = ran(project, "--plain")
    lines = stdout.splitlines()
    assert lines[0].startswith("m:good is best") or lines[0].startswith("no ")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 110
    assert "6 more are not right everywhere, 2 of 20 right everywhere" in stdout
    assert "next: assay view runs" in stderr


def test_several_prompts_are_columns(project: Path) -> None:
    _, stdout, _ = ran(project, "--prompt", "plain.txt", "--prompt", "polite.txt", "--json")
    found = json.loads(stdout)
    (grid,) = found["grids"]
    assert [(column["model"], column["prompt"]) for column in grid["columns"]] == [
        ("m:good", "plain"),
        ("m:good", "polite"),
        ("m:bad", "plain"),
        ("m:bad", "polite"),
    ]
    assert {pair["model"] for pair in found["pairs"]} == {"m:good", "m:bad"}


def test_three_prompts_and_two_models_are_one_screen(project: Path) -> None:
    (project / "careful.txt").write_text("Carefully {{ question }}")
    prompts = [word for name in ("plain", "polite", "careful") for word in ("--prompt", f"{name}.txt")]
    models = ("--model", "first=stub:r1", "--model", "second=stub:r2")
    done = assay("run", "rows.csv", *prompts, *models, "--plain", cwd=project, COLUMNS="80")
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert len(lines) <= 40, done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.count("\nrow ") == 1
    assert "None of the 6 pairs of prompts shows a difference; the smallest p (Holm) is 1" in done.stdout


def test_what_was_interrupted_is_the_best_of_nothing(project: Path) -> None:
    (project / "stops.py").write_text(STOPS)
    prompts = ("--prompt", "plain.txt", "--prompt", "polite.txt")
    done = assay("run", "rows.csv", *prompts, "--model", "stops:answer", "--concurrency", "1", cwd=project)
    assert done.returncode == 130, done.stderr
    assert "1 column of the grid not begun: rerun the same command" in done.stderr
    assert "compared with nothing" in done.stdout
    assert "best" not in done.stdout


def test_repeated_attempts_are_counted_in_their_cell(project: Path) -> None:
    code, stdout, stderr = ran(project, "--repeat", "3", "--limit", "5", "--json")
    assert code == 3, stderr
    (grid,) = json.loads(stdout)["grids"]
    cells = grid["rows"][1]["cells"]
    assert [(cell["attempts"], cell["right"]) for cell in cells] == [(3, 3), (3, 0)]
