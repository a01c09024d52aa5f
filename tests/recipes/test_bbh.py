"""BBH: the published exemplars where they are, and a sentence where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.recipes.recipe import find_recipe, write_tasks

EXEMPLARS = """\
This file is for tests: keep it out of training data.
-----
Say whether a number is even.

A number is even when two divides it.

Q: Is 4 even?
Options:
- Yes
- No
A: Let's think step by step.
4 = 2 * 2. So the answer is Yes.

Q: Is 5 even?
A: Let's think step by step.
5 = 2 * 2 + 1. So the answer is No.

Q: Is 6 even?
A: Let's think step by step.
6 = 2 * 3. So the answer is Yes.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """In the layout of the original one: tasks, exemplars, and what other models answered."""
    place = tmp_path / "BIG-Bench-Hard"
    for folder in ("bbh", "cot-prompts", "some-model-outputs"):
        (place / folder).mkdir(parents=True)
    examples = [{"input": f"Is {n} even?", "target": "No" if n % 2 else "Yes"} for n in range(10, 15)]
    (place / "bbh" / "even_numbers.json").write_text(json.dumps({"canary": "", "examples": examples}))
    (place / "cot-prompts" / "even_numbers.txt").write_text(EXEMPLARS)
    (place / "some-model-outputs" / "even_numbers.json").write_text("[]")
    return place


def bbh_rows(repository: Path, out: Path, **options: Any) -> list[dict[str, Any]]:
    settings = {"variant": None, "shots": None, "accept_unknown": True, **options}
    write_tasks(find_recipe("bbh"), repository, out, **settings)
    lines = (out / "bbh-even-numbers.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if not line.startswith("#")]


def test_bbh_takes_the_published_exemplars_where_they_are(repository: Path, tmp_path: Path) -> None:
    rows = bbh_rows(repository, tmp_path / "out")
    assert len(rows) == 5  # none is spent on examples
    before = EXEMPLARS.partition("-----\n")[2]
    assert rows[0]["prompt"] == f"{before}\nQ: Is 10 even?\nA: Let's think step by step."
    told = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert {each["name"] for each in told["files"]} == {"even_numbers.json", "even_numbers.txt"}
    assert not any("no cot-prompts/" in remark for remark in told["remarks"])


def test_bbh_without_reasoning_shows_the_same_questions_with_their_answers(repository: Path, tmp_path: Path) -> None:
    rows = bbh_rows(repository, tmp_path / "out", variant="direct", shots=2)
    assert rows[0]["prompt"].endswith("- No\nA: Yes\n\nQ: Is 5 even?\nA: No\n\nQ: Is 10 even?\nA:")


def test_bbh_without_the_exemplars_says_so_and_records_it(repository: Path, tmp_path: Path) -> None:
    (repository / "cot-prompts" / "even_numbers.txt").unlink()
    said: list[str] = []
    rows = bbh_rows(repository, tmp_path / "out", say=said.append)
    assert len(rows) == 2
    assert rows[0]["prompt"].startswith("Q: Is 10 even?\nA: So the answer is Yes.\n\nQ: Is 11 even?")
    assert rows[0]["metadata"]["exemplars"] == "first questions"
    assert "cot-prompts" in said[0]
    assert json.loads((tmp_path / "out" / "recipe.json").read_text())["remarks"] == said


def test_exemplars_in_another_form_are_a_sentence(repository: Path, tmp_path: Path) -> None:
    (repository / "cot-prompts" / "even_numbers.txt").write_text("-----\nQ: what?\n")
    with pytest.raises(UsageError, match=r"cot-prompts/even_numbers\.txt: not in the form"):
        bbh_rows(repository, tmp_path / "out")
