"""A comparison on one screen: tasks by their evidence, then the flips that tell most."""

from __future__ import annotations

from pathlib import Path

from tests.results.runs import Adder, run_into, write_sums

from assay.pages.document import Sentence, TextTable, text_of
from assay.pages.documents.diff_screen import MOST_FLIPS, diff_screen
from assay.results.diff.comparison import diff


def test_tasks_are_sorted_by_evidence_and_flips_are_of_those_with_the_most(tmp_path: Path) -> None:
    for name, prompt in (("same", "b: {n} + 1"), ("worse", "a: {n} + 1")):
        write_sums(tmp_path / "tasks", name, 40, prompt=prompt)

    class OfTask(Adder):
        def generate(self, prompts: list[str]) -> list[str]:
            return [
                "hm" if prompt.startswith("a") and index < 20 else super(OfTask, self).generate([prompt])[0]
                for prompt in prompts
                for index in (int(prompt.split(": ")[1].split(" ", maxsplit=1)[0]),)
            ]

    a = run_into(tmp_path / "a", tmp_path / "tasks", Adder([39], name="before"))
    b = run_into(tmp_path / "b", tmp_path / "tasks", OfTask(name="after"))
    found = diff(a, b, samples=MOST_FLIPS)
    blocks = diff_screen(found)
    assert isinstance(blocks[0], Sentence)
    assert text_of(blocks[0].line) == "A → B: B is worse on worse; overall B is worse"
    first, flips = (block for block in blocks if isinstance(block, TextTable))
    assert [text_of(row[0]) for row in first.rows] == ["worse", "same", "overall"]
    assert [text_of(first.rows[at][0]) for at in first.folds] == ["same"]
    assert len(flips.rows) == MOST_FLIPS
    assert [text_of(row[0]) for row in flips.rows].count("✓ → ✗") == MOST_FLIPS - 1
    assert {text_of(row[1]) for row in flips.rows} == {"worse", "same"}


def test_nothing_that_changed_is_nothing(tmp_path: Path) -> None:
    run = run_into(tmp_path / "a", write_sums(tmp_path / "tasks", "sums", 5), Adder())
    sentences = [text_of(block.line) for block in diff_screen(diff(run, run)) if isinstance(block, Sentence)]
    assert sentences[0] == "A → B: no difference: the same questions, settings, answers and scores"
    assert "changed: nothing" in sentences
