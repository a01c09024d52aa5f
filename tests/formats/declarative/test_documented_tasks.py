"""The task files that the format's own documentation shows, unchanged, against scripted models, by hand.

The documentation lies outside the repository and has lost its indentation; the numbers below put it back, one per
line. The test is skipped where the documentation is absent.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.reading import read_yaml_tasks

from assay.results.board.leaderboard import Leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation

ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("ASSAY_SHARED_DATA") or ROOT.parent / "shared" / "data").parent
PAGES = [SHARED / "seeds", ROOT.parents[1] / "shared" / "seeds"]
FOUND = [page for folder in PAGES for page in sorted(folder.glob("002*"))]
pytestmark = pytest.mark.skipif(not FOUND, reason="the documentation of the format is not here")

GENERIC = "0 0 0 0 0 2 4 2 4 4 6 6 8 10 12 14 14 12 12 14 14 12 10 8 2 4 6"
UNIQUENESS = "0 0 0 2 0 0 2 4 4 0 2 2 2 4 6 6 8 10 10"
SNIPPET = "0 0 0 0 4 4 8 4 4 4 8 8 4"
TRIVIA = "0 0 0 0 0 2 2 4 2 4 4 6 6 8 10 8 10 2 4 6 6 8 8 8 8 8 6 8 8 6 8 6 8 6"


def shown(first: str, last: str, indents: str) -> str:
    """The lines from one that ends with `first` to one that begins with `last`, indented again."""
    text = FOUND[0].read_text(encoding="utf-8")
    start = text.index(first)
    lines = text[start : text.index(last, start) + len(last)].splitlines()
    widths = [int(width) for width in indents.split()]
    assert len(lines) == len(widths), (len(lines), len(widths), lines)
    return "".join(" " * width + line + "\n" for width, line in zip(widths, lines, strict=True))


def run(path: Path, model: Any, **options: Any) -> Leaderboard:
    definitions = read_yaml_tasks(path, **options)
    config = RunConfig(include_per_example=True)
    return run_evaluation(definitions, config, model=model, folder=path.parent / "run").leaderboard


def test_the_generic_input_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    yaml = shown('display_name: "Single-turn Solver Generic', 'ground_truth: "{{ sample.target }}"', GENERIC)
    (tmp_path / "task.yaml").write_text(yaml)
    (tmp_path / "qa-single-answers.jsonl").write_text(
        '{"question": "Capital of France?", "target": "Paris"}\n'
        '{"question": "Capital of Italy?", "target": "Rome"}\n'
        '{"question": "Seven plus one?", "target": 8}\n'
        '{"question": "A \\"quoted\\" word?", "target": "x"}\n'
    )

    def model(prompt: str) -> str:
        assert "no punctuation" in prompt
        return "Paris" if "France" in prompt else "rome" if "Italy" in prompt else "8"

    board = run(tmp_path / "task.yaml", model)
    row = board.tasks[0]
    # right, wrong by case, right as the text of a number; quotes inside quotes make no JSON and no score
    assert (row.metric, row.score, row.correct, row.scored, row.failed) == ("accuracy", pytest.approx(2 / 3), 2, 3, 1)
    assert row.failures == {"solver/bad_input": 1}


def test_the_uniqueness_task_with_its_included_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text(shown('display_name: "Uniqueness Task"', 'name: "Uniqueness Rate"', UNIQUENESS))
    source = shown("from __future__ import annotations", "]Definitions", SNIPPET).replace("]Definitions", "]")
    (tmp_path / "uniqueness_scorer.py").write_text(source)
    rows = ['{"city": "Bern"}', '{"city": "Basel"}', '{"city": "Bern"}', '{"other": 1}', '{"city": null}']
    (tmp_path / "cities.jsonl").write_text("\n".join(rows))
    board = run(tmp_path / "task.yaml", lambda prompt: "", config={"field": "city"}, dataset="cities")
    row = board.tasks[0]
    # Basel is alone; a row without the column, or with null in it, counts as unique; Bern occurs twice
    assert row.score == pytest.approx(3 / 5)
    assert [next(iter(example.values.values()))["is_unique"] for example in row.per_example] == [
        False,
        True,
        False,
        True,
        True,
    ]  # type: ignore[union-attr]
    assert row.aggregates[0].name == "Uniqueness Rate"


def test_the_trivia_task_with_its_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    yaml = shown('display_name: "Harry Potter Trivia Task"', "use_structured_outputs: true", TRIVIA)
    (tmp_path / "task.yaml").write_text(yaml)
    (tmp_path / "hp-trivia-dataset.jsonl").write_text(
        '{"question": "Owl?", "gt_answer": "Hedwig"}\n'
        '{"question": "Half-giant?", "gt_answer": "Hagrid"}\n'
        '{"question": "School?", "gt_answer": "Hogwarts"}\n'
        '{"question": "Elf?", "gt_answer": "Dobby"}\n'
    )
    (tmp_path / "trivia_judge.py").write_text(
        "import json\n"
        "def judge(prompt):\n"
        "    truth, said = prompt.split('Ground Truth Answer: ')[1].split('\\nCandidate Answer: ')\n"
        "    if said.strip().startswith('garbage please'): return 'I cannot tell'\n"
        "    label = 'correct' if truth.strip().lower() == said.strip().lower() else 'incorrect'\n"
        "    return json.dumps({'prediction': label, 'reasoning': '', 'confidence': 1})\n"
    )

    def model(prompt: str) -> str:
        asked = re.search(r"(\S+)\?", prompt)
        assert asked is not None
        return {"Owl": "hedwig", "Half-giant": "Ron", "School": "Hogwarts"}.get(asked[1], "garbage please")

    board = run(tmp_path / "task.yaml", model, models={"openai$gpt-4-1-nano": "trivia_judge:judge"})
    row = board.tasks[0]
    # two of three right; the judge's unreadable verdict is a failure, not a wrong answer
    assert (row.score, row.correct, row.scored, row.failed) == (pytest.approx(2 / 3), 2, 3, 1)
    assert row.failures == {"scorer/bad_output": 1}
