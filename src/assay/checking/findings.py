"""What a check of a task finds, in the order and number in which it is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from assay.core.types import Request, Score
from assay.overriding import override
from assay.task_records import Declared

ALIKE_SHOWN, SHOWN = 3, 20
"""Findings shown for one problem at one field, and for one problem of a task whose samples are not fields of a file."""


class Finding(Struct, frozen=True, kw_only=True):
    """Something that would go wrong in a run, about one sample or many alike, or about a whole task."""

    task: str
    sample: str = ""
    """The first one; empty where it is about none."""
    problem: str
    """One word: `gold_not_full_marks`, `empty_answer_scores`, `duplicate`, …"""
    detail: str
    error: bool = True
    """False for a warning."""
    place: str = ""
    """File, line and column of the field that is to blame."""
    field: str = ""
    """As the file has it; before it is located, by the names of the parts: `scorers.judge.user_prompt`."""
    samples: int = 1

    @override
    def __str__(self) -> str:
        about = f"sample `{self.sample}`: " if self.sample else ""
        more = f" (and {self.samples - 1:,} more samples)" if self.samples > 1 else ""
        if self.place:
            return f"{self.place}: {f'{self.field}: ' if self.field else ''}{about}{self.detail}{more}"
        return f"{self.task}{f'/{self.sample}' if self.sample else ''}: {self.problem}: {self.detail}{more}"


class SampleRehearsal(Struct, frozen=True, kw_only=True):
    """One rehearsed sample, for display: the request, the scripted answer, and its scores."""

    sample: str
    requests: list[Request]
    answer: str
    judged: dict[str, list[Request]]
    """The requests to each judge, by its scorer's key."""
    scores: list[Score]


class TaskCheck(Struct, frozen=True, kw_only=True):
    """What was proved about one task."""

    task: str
    samples: int = 0
    groups: int | None = None
    """The groups that the samples come in; None where each is independent."""
    largest_loss: float | None = None
    """The most that the task declares a sample's score to change."""
    gold_checked: int = 0
    """Samples whose gold answer could be tried; code tasks have none unless `extras.solution` gives one."""
    findings: list[Finding]
    declared: tuple[Declared, ...] = ()
    """Everything that its file declares, with what it became."""
    without_gold: dict[str, int] = {}
    """Scorers for which no answer with full marks is known, and on how many samples."""
    tried_instead: dict[str, str] = {}
    """The result of those scorers for the first answer that they saw, in words."""
    tried: int = 0
    """Samples that were rehearsed: all of them, or a stated number from a large dataset."""
    first_sample: SampleRehearsal | None = None
    """The first sample, rehearsed."""


def most_severe_first(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first, each kind in the order of the files."""
    return sorted(findings, key=lambda finding: (not finding.error, *_in_file(finding.place)))


def some_of_each(findings: Sequence[Finding]) -> list[Finding]:
    """The first few of each problem at each place, so that a template that fails on every row hides nothing else."""
    counts: Counter[tuple[str, str]] = Counter()
    shown = []
    for finding in findings:
        alike = finding.problem, finding.place
        counts[alike] += 1
        if counts[alike] <= (ALIKE_SHOWN if finding.place else SHOWN):
            shown.append(finding)
    return shown


def _in_file(place: str) -> tuple[str, int, int]:
    file, line, column = place.rsplit(":", 2) if place else ("", "0", "0")
    return file, int(line), int(column)
