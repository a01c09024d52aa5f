"""The checks of several tasks: how many are fine first, errors before remarks."""

from __future__ import annotations

from assay.checking.findings import Finding, TaskCheck
from assay.pages.document import Items, Sentence, text_of
from assay.pages.documents.check_screen import check_screen


def finding(task: str, problem: str, *, error: bool = True) -> Finding:
    return Finding(task=task, sample="s", problem=problem, detail="why", error=error)


def test_errors_come_before_remarks_and_the_next_command_names_a_broken_task() -> None:
    remark, wrong = finding("a", "duplicate", error=False), finding("b", "gold_not_full_marks")
    checks = [
        TaskCheck(task="a", samples=5, gold_checked=5, findings=[remark]),
        TaskCheck(task="b", samples=2, gold_checked=1, findings=[wrong]),
    ]
    blocks = check_screen(checks)
    lines = [text_of(block.line) for block in blocks if isinstance(block, Sentence)]
    assert lines[0] == "1 of 2 tasks has errors; 6 gold answers tried of 7 samples"
    assert lines[1] == "1 remark, none of them an error:"
    assert lines[-1].startswith("next: assay check b")
    listed = [text_of(line) for block in blocks if isinstance(block, Items) for line in block.lines]
    assert listed == ["b/s: gold_not_full_marks: why", "a/s: duplicate: why"]


def test_nothing_wrong_is_one_line() -> None:
    verdict, after = check_screen([TaskCheck(task=name, samples=2, gold_checked=2, findings=[]) for name in "ab"])
    assert isinstance(verdict, Sentence)
    assert text_of(verdict.line) == "nothing is wrong with 2 tasks: 4 gold answers tried of 4 samples"
    assert isinstance(after, Sentence)
