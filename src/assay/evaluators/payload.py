"""What an evaluator is sent and what it may answer: the one place that knows the rules of protocol v2.

Parse time and preflight time both go through `read_answer`, and `read_answer` goes by `validate_evaluator_payload`.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import msgspec
from msgspec import Struct

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Failure
from assay.reading.strict_json import BOM, StrictJsonError, decode_mended, decode_strictly
from assay.text.printable import printable

PROTOCOL_VERSION = 2

ScoreRange = Literal["unit", "any"]
"""`unit`: a score lies in [0, 1]. `any`: every finite number is a score."""

SHOWN_CHARACTERS = 500
"""How much of an answer that cannot be used is shown to the reader."""


class Evaluation(Struct, frozen=True, kw_only=True):
    """A valid score, and everything else in the evaluator's answer."""

    score: float
    side_info: dict[str, Any]


class CandidateParts(str):
    """A candidate of several named texts, as one text: its components under their names, in order.

    An extension of protocol v2: the payload has them once more under `components`, which evaluators may ignore.
    """

    components: dict[str, str]

    def __new__(cls, components: Mapping[str, str], whole: str | None = None) -> CandidateParts:
        """`whole` is the candidate as one text where it is not simply all of them."""
        texts = (f"## {name}\n\n{text}" for name, text in components.items())
        made = super().__new__(cls, "\n\n".join(texts) if whole is None else whole)
        made.components = dict(components)
        return made


class EvaluatorError(FailureError):
    """An evaluation that gave no valid score: why, and what was seen."""

    def __init__(
        self,
        failure: Failure,
        side_info: Mapping[str, Any] | None = None,
        *,
        away: Literal["unreachable", "refusing", "closed"] | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(failure, away=away)
        self.side_info: dict[str, Any] = dict(side_info or {})
        self.status = status
        """What a service answered, with its headers: how long to wait, and whether it refuses every request."""
        self.headers: Mapping[str, str] = headers or {}


class Evaluator(Protocol):
    """Scores a candidate text, alone or on one example. Raises `EvaluatorError` when there is no valid score."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> dict[str, Any]:
        """What its scores depend on, as plain data: the evaluator's part of a fingerprint."""
        ...

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation: ...

    async def close(self) -> None: ...


@runtime_checkable
class AsksModels(Protocol):
    """An evaluator that asks models: they have to be paid for."""

    @property
    def called_models(self) -> Sequence[Model]: ...


def build_payload(candidate: str, example: Mapping[str, Any] | None, task_model: str | None) -> dict[str, Any]:
    """What is sent: `task_model` and `example` only when there is one; an example never mixes with our own keys."""
    payload: dict[str, Any] = {"_protocol_version": PROTOCOL_VERSION, "candidate": str(candidate)}
    if isinstance(candidate, CandidateParts):
        payload["components"] = candidate.components
    if task_model is not None:
        payload["task_model"] = task_model
    if example is not None:
        payload["example"] = dict(example)
    return payload


def build_batch(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several payloads as one: an extension of protocol v2, sent only where the user asked for batches."""
    return {"_protocol_version": PROTOCOL_VERSION, "batch": list(payloads)}


def encode_payload(part: str, payload: Mapping[str, Any]) -> bytes:
    """A payload as one JSON document in UTF-8, on one line."""
    try:
        return msgspec.json.encode(payload)
    except (UnicodeEncodeError, TypeError, ValueError, msgspec.MsgspecError) as error:
        raise failed(part, "bad_candidate", f"the candidate or example cannot be written as JSON: {error}") from error


def validate_evaluator_payload(result: Any, score_range: ScoreRange = "unit") -> str | None:
    """Why an evaluator's answer is not valid, in a sentence; None when it is."""
    check_score_range(score_range)
    if not isinstance(result, dict):
        return f"the answer must be an object with a `score`, not {kind_of(result)}"
    if "score" not in result:
        return "`score` is missing"
    reason = why_not_a_number(result["score"])
    if reason is not None:
        return f"`score` is {reason}"
    if score_range == "unit" and not 0.0 <= result["score"] <= 1.0:
        return f"`score` is outside 0..1: {result['score']!r} (the score range `any` would allow it)"
    return None


def why_not_a_number(value: Any) -> str | None:
    """Why a value is no finite number: booleans and texts that look like numbers are none; numpy's numbers are."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return f"not numeric: {shortened(value)}"
    try:
        number = float(value)
    except OverflowError:
        return "not finite: an integer too large for a float"
    return None if math.isfinite(number) else f"not finite: {number}"


def read_answer(answer: bytes, score_range: ScoreRange, part: str, source: str = "the answer") -> Evaluation:
    """The evaluation in an evaluator's answer: the whole of it must be one JSON object with a valid score."""
    return _evaluation(_decoded(answer, part, source), score_range, part)


def read_batch(
    answer: bytes, count: int, score_range: ScoreRange, part: str, source: str = "the answer"
) -> list[Evaluation | EvaluatorError]:
    """The evaluations in the answer to a batch, each by the rules of a single one; one that breaks them fails alone."""
    decoded = _decoded(answer, part, source)
    results = decoded.get("results") if isinstance(decoded, dict) else None
    if not isinstance(results, list) or len(results) != count:
        received = f"{len(results)} results" if isinstance(results, list) else shortened(decoded)
        wanted = f"must be an object with `results`, a list of {count} answers in the order of the batch"
        raise failed(part, "bad_output", f"{source} {wanted}. Seen: {received}", {source: received})
    return [_evaluation_or_error(result, score_range, part) for result in results]


def _evaluation_or_error(result: Any, score_range: ScoreRange, part: str) -> Evaluation | EvaluatorError:
    try:
        return _evaluation(result, score_range, part)
    except EvaluatorError as error:
        return error


def _decoded(answer: bytes, part: str, source: str) -> Any:
    answer = answer.removeprefix(BOM)
    try:
        return decode_strictly(answer)
    except StrictJsonError as error:
        if error.rule == "bad_json":
            try:
                return decode_mended(answer)
            except ValueError:
                pass  # the strict decoder has the better message
        seen = answer.decode("utf-8", "backslashreplace")
        shown = shortened(seen) if seen.strip() else "nothing at all"
        what = "not UTF-8" if error.rule == "not_utf8" else "not valid JSON"
        raise failed(
            part, "bad_output", f"{source} is {what}: {error.detail}. Seen: {shown}", {source: shown}
        ) from error


def _evaluation(result: Any, score_range: ScoreRange, part: str) -> Evaluation:
    reason = validate_evaluator_payload(result, score_range)
    if reason is not None:
        raise failed(part, "bad_output", f"{reason}. Seen: {shortened(result)}", result if type(result) is dict else {})
    return Evaluation(
        score=float(result["score"]), side_info={key: value for key, value in result.items() if key != "score"}
    )


def check_score_range(score_range: str) -> ScoreRange:
    """The score range; `UsageError` lists them when it is none of them."""
    for known in get_args(ScoreRange):
        if score_range == known:
            return known  # type: ignore[no-any-return]  # get_args gives up the literal type
    raise UsageError(f"unknown score range `{score_range}`. Known: {', '.join(get_args(ScoreRange))}")


def check_task_model(task_model: str | None) -> str | None:
    """The name of the task model, None when there is none; `UsageError` when it is blank."""
    if task_model is not None and not task_model.strip():
        raise UsageError("the task model (--task-model) is blank: name one, or leave it out")
    return task_model


def check_timeout(timeout_seconds: float) -> float:
    """The time limit of one evaluation; `UsageError` when it is not above 0."""
    if not 0 < timeout_seconds < math.inf:
        raise UsageError(f"an evaluator's timeout must be more than 0 seconds, got {timeout_seconds:g}")
    return timeout_seconds


def failure_of(error: Exception, part: str) -> tuple[Failure, dict[str, Any]]:
    """What any evaluator raised, as a failure with its side information."""
    if isinstance(error, FailureError):
        return error.failure, dict(error.side_info) if isinstance(error, EvaluatorError) else {}
    message = f"{part}: {type(error).__name__}: {shortened(str(error))}"
    return Failure(stage="scorer", kind="exception", part=part, message=message), {}


def failed(
    part: str, kind: str, message: str, side_info: Mapping[str, Any] | None = None, *, retryable: bool = False
) -> EvaluatorError:
    """An evaluation that broke, ready to be raised."""
    failure = Failure(stage="scorer", kind=kind, part=part, message=f"{part}: {message}", retryable=retryable)
    return EvaluatorError(failure, side_info)


def shortened(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    """A value on one line, cut where it gets long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    text = " ".join(text.split())
    shown = printable(text[:limit])
    return shown if len(text) <= limit else f"{shown}… ({len(text)} characters)"


def shortened_end(text: str, limit: int) -> str:
    """A text on one line, its end where it gets long: what a program wrote last says why it gave up."""
    text = " ".join(text.split())
    shown = printable(text[-limit:])
    return shown if len(text) <= limit else f"({len(text)} characters) …{shown}"


def kind_of(value: Any) -> str:
    """What JSON calls a value."""
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), type(value).__name__)
