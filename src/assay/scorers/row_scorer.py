"""Runs a scorer of samples with targets and extras on rows: templates map columns to targets and extras."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from assay.core.seams import Preparable, Scorer, close_part
from assay.core.types import Completion, Sample, Score, Trace
from assay.overriding import override
from assay.prompts.field_template import FieldTemplate
from assay.prompts.row_sample import RowSample
from assay.prompts.written_text import row_variables
from assay.scorers.judging.rehearsed import KnowsGold, RehearsesTests, TestProblem
from assay.scorers.judging.variables import scorer_variables


class OverRow:
    """The scorer inside sees the sample that the templates make of the row, and the text that `value` makes."""

    def __init__(self, scorer: Scorer, read: RowSample, value: FieldTemplate | None, has_solver: bool) -> None:
        self.name = scorer.name
        self._scorer = scorer
        self._read = read
        self._value = value
        self._has_solver = has_solver

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        if self._value is not None:
            variables = scorer_variables(sample, trace, has_solver=self._has_solver)
            trace = msgspec.structs.replace(trace, prediction=self._value.render(variables, sample))
        return await self._scorer(self._read.of(sample), trace)

    def gold(self, sample: Sample) -> Completion | None:
        """The inner scorer's gold answer, or the first expected text, where the answer is compared as it is."""
        if self._value is not None:
            return None
        read = self._read.of(sample)
        if isinstance(self._scorer, KnowsGold):
            return self._scorer.gold(read)
        return Completion(text=read.targets[0]) if read.targets else None

    async def aclose(self) -> None:
        await close_part(self._scorer)


class StartedOverRow(OverRow):
    """The same for a scorer with something to start: one that checks what a program does."""

    def __init__(
        self,
        scorer: Scorer,
        read: RowSample,
        value: FieldTemplate | None,
        has_solver: bool,
        solution: FieldTemplate | None = None,
    ) -> None:
        super().__init__(scorer, read, value, has_solver)
        self._solution = solution

    def start_here(self) -> Any:
        return self._scorer.start_here() if isinstance(self._scorer, Preparable) else None

    async def rehearse_test(self, sample: Sample) -> TestProblem | None:
        if not isinstance(self._scorer, RehearsesTests):
            return None
        return await self._scorer.rehearse_test(self._read.of(sample))

    def recall_tests(self, problems: Iterable[TestProblem]) -> None:
        if isinstance(self._scorer, RehearsesTests):
            self._scorer.recall_tests(problems)

    @override
    def gold(self, sample: Sample) -> Completion | None:
        """The program that the row itself holds, if the task says where."""
        if self._solution is None or self._value is not None:
            return None
        text = self._solution.render(row_variables(sample), sample)
        return Completion(text=text) if text.strip() else None
