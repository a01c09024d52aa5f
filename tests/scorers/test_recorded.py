"""A score of another program stands as it was given; there is none for an answer that it did not see."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.errors import FailureError
from assay.core.types import Sample, Trace
from assay.scorers.judging.judge import NOT_CALLED
from assay.scorers.recorded import Recorded


def test_an_answer_without_a_recorded_score_gets_none() -> None:
    with pytest.raises(FailureError) as caught:
        asyncio.run(Recorded("match")(Sample(id="one"), Trace(prediction="2")))
    assert (caught.value.failure.kind, caught.value.failure.part) == (NOT_CALLED, "match")
