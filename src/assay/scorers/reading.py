"""Scores answers about a passage as DROP does: exact match and F1 over spans, numbers and dates."""

from __future__ import annotations

from assay import catalog
from assay.core.describe import ScorerInfo, describes, share
from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.post_process import nothing_extracted
from assay.metrics.reading import drop_scores


@describes(ScorerInfo(values=(share("score"), share("exact"))))
class DropScorer:
    """`score` is F1, `exact` whether every span is there and no other.

    `extras.answers` is a list of right answers, each a list of spans; without it every target is an answer of one span.
    """

    only_computes = True

    def __init__(self, key: str, *, post_process: str = "none") -> None:
        self.name = key
        self._rule = post_process
        self._post_process = catalog.resolve("post_process", post_process)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        answer = self._post_process(trace.prediction)
        exact, f1 = drop_scores(answer, self._answers(sample))
        return Score(
            name=self.name,
            values={"score": f1, "exact": exact},
            answer=answer,
            extracted=not nothing_extracted(trace.prediction, self._rule, answer),
        )

    def _answers(self, sample: Sample) -> list[list[str]]:
        answers = sample.extras.get("answers", [[target] for target in sample.targets])
        if not isinstance(answers, list) or not all(
            isinstance(spans, list) and all(isinstance(span, str) for span in spans) for spans in answers
        ):
            message = "extras.answers must be a list of answers, each a list of texts"
            raise FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))
        return answers
