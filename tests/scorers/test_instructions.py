"""Following instructions: strictly and loosely, per prompt and per instruction; what cannot be checked fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Sample, Score, Trace
from assay.scorers.instructions import instructions

QUOTED = {"id": "startend:quotation"}
NO_COMMA = {"id": "punctuation:no_comma"}


def score(prediction: str, asked: Any) -> Score:
    sample = Sample(id="1", extras={"instructions": asked})
    return asyncio.run(instructions("m")(sample, Trace(prediction=prediction)))


def test_every_instruction_must_hold_and_the_missed_ones_are_named() -> None:
    found = score('"no commas here"', [QUOTED, NO_COMMA])
    assert (found.values["score"], found.values["followed"], found.reason) == (1.0, 2.0, None)
    found = score('"well, one"', [QUOTED, NO_COMMA])
    assert (found.values["score"], found.values["followed"], found.values["missed"]) == (0.0, 1.0, 1.0)
    assert found.reason == "not followed: punctuation:no_comma"


def test_a_first_line_of_politeness_is_forgiven_loosely_only() -> None:
    found = score('Sure, here it is:\n"no commas here"', [QUOTED, NO_COMMA])
    assert (found.values["score"], found.values["prompt_loose"]) == (0.0, True)
    assert (found.values["missed"], found.values["missed_loosely"]) == (2.0, 0.0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (None, "must be a list of instructions"),
        ([], "must be a list of instructions"),
        ("punctuation:no_comma", "must be a list of instructions"),
        ([NO_COMMA, {"id": "make:coffee"}], "`make:coffee` is not an instruction"),
        ([{"id": "length_constraints:number_words", "num_words": "many", "relation": "at least"}], "options are wrong"),
        ([{"id": "punctuation:no_comma", "colour": "red"}], "options are wrong"),
    ],
)
def test_what_cannot_be_checked_is_a_failure_and_no_score(asked: Any, said: str) -> None:
    with pytest.raises(FailureError, match=said) as caught:
        score("text", asked)
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("scorer", "bad_request")
