"""Scores whether a text followed its sample's instructions, strictly and loosely, per prompt and per instruction."""

from __future__ import annotations

from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.metrics.instructions import CHECKS, follows, loose_variants


class Instructions:
    """`score` is 1.0 when every instruction is followed as the text is; the counts add up over a task."""

    only_computes = True
    """Asks nobody and keeps nothing: any process may do its work."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        asked = sample.extras.get("instructions")
        if not isinstance(asked, list) or not asked:
            raise self._bad("extras.instructions must be a list of instructions, each with its `id`")
        unknown = next((each.get("id") for each in asked if each.get("id") not in CHECKS), None)
        if unknown is not None:
            raise self._bad(f"`{unknown}` is not an instruction that can be checked")
        try:
            text, *variants = loose_variants(trace.prediction)
            strict = [follows(text, each) for each in asked]
            loose = [
                followed or any(follows(variant, each) for variant in variants)
                for each, followed in zip(asked, strict, strict=True)
            ]
        except (TypeError, ValueError) as error:
            raise self._bad(f"an instruction's options are wrong: {error}") from error
        missed = [str(each["id"]) for each, followed in zip(asked, strict, strict=True) if not followed]
        return Score(
            name=self.name,
            values={
                "score": float(all(strict)),
                "prompt_loose": all(loose),
                "followed": float(sum(strict)),
                "missed": float(len(strict) - sum(strict)),
                "followed_loosely": float(sum(loose)),
                "missed_loosely": float(len(loose) - sum(loose)),
            },
            reason=f"not followed: {', '.join(missed)}" if missed else None,
        )

    def _bad(self, message: str) -> FailureError:
        return FailureError(Failure(stage="scorer", part=self.name, kind="bad_request", message=message))


def instructions(key: str, *, context: object = None) -> Instructions:
    """Whether every one of `extras.instructions` is followed: 25 kinds that a program can check."""
    return Instructions(key)
