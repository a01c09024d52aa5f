"""`recorded`: a score that another program gave, kept in the run imported from its log."""

from __future__ import annotations

from assay.core.describe import ScorerInfo, describes
from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.scorers.judging.judge import NOT_CALLED


@describes(ScorerInfo(aggregates=()))
class Recorded:
    """The score is kept as it was given: `assay rescore` keeps it, and assay cannot compute it for another answer."""

    def __init__(self, key: str) -> None:
        self.name = key

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        message = f"the program that wrote the log gave no score `{self.name}`, and only it can"
        raise FailureError(Failure(stage="scorer", part=self.name, kind=NOT_CALLED, message=message))
