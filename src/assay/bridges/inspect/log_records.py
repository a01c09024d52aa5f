"""One sample of an Inspect log as the record of an attempt: conversation, usage, failure, scores."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from assay.bridges.inspect.log_files import LogSample, attached, chat_messages
from assay.core.attempt import attempt_key
from assay.core.types import Completion, Failure, Message, Record, Sample, Score, ScoreValue, Trace, Usage
from assay.datasets.traces import conversation_columns
from assay.text.tracebacks import LONGEST_TRACEBACK, without_keys

NUMBERS_OF_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""The numbers that Inspect's metrics use for scores that are words: correct, incorrect, partial, no answer."""
_TIME_LIMITS = ("time", "working")
_FINISHED = {"max_tokens": "length", "model_length": "length"}


def record_of(task: str, model: str, sample: LogSample, dataset_sample: Sample, index: int) -> Record:
    """An epoch of the log as an attempt at `dataset_sample`. One that ended in an error or at a limit has no score."""
    failure = failure_of(sample)
    trace = _trace(sample, model)
    scores = tuple(score_of(name, each, sample) for name, each in (sample.scores or {}).items())
    return Record(
        key=attempt_key(task, dataset_sample, sample.epoch),
        task=task,
        sample_id=dataset_sample.id,
        index=index,
        attempt=sample.epoch,
        targets=dataset_sample.targets,
        metadata=dataset_sample.slices(),
        trace=trace,
        last_request=dataset_sample.prompt if trace is None and dataset_sample.prompt else None,
        scores=scores if failure is None else (),
        failures=() if failure is None else (failure,),
        seconds=sample.working_time if sample.working_time is not None else sample.total_time or 0.0,
        finished=_unix_time(sample.completed_at),
        usage=_other_usage(sample, model, trace),
    )


def failure_of(sample: LogSample) -> Failure | None:
    """Why the sample has no score; Inspect scores the partial output when a limit ended it, which is not an answer."""
    if sample.error is not None:
        message = str(sample.error.get("message") or "the sample failed")
        kind = "timeout" if message.startswith("TimeoutError") else "error"
        kind = "cancelled" if message.startswith("CancelledError") else kind
        traceback = without_keys(str(sample.error.get("traceback", "")))[-LONGEST_TRACEBACK:]
        return Failure(stage="solver", part="inspect", kind=kind, message=message, traceback=traceback)
    if sample.limit is not None:
        which = str(sample.limit.get("type", ""))
        message = str(sample.limit.get("reason") or f"the {which} limit of {sample.limit.get('limit')} was reached")
        kind = "timeout" if which in _TIME_LIMITS else "limit"
        return Failure(stage="solver", part="inspect", kind=kind, message=message)
    if not sample.scores and not _answers(sample):
        return Failure(stage="solver", part="inspect", kind="bad_output", message="the log holds no answer")
    return None


def score_of(name: str, score: Any, sample: LogSample) -> Score:
    """One scorer's score, with each of its values as the number that Inspect's metrics count it as."""
    given = score if isinstance(score, dict) else {"value": score}
    answer, reason, metadata = given.get("answer"), given.get("explanation"), given.get("metadata")
    return Score(
        name=name,
        values=_values(given.get("value")),
        answer=attached(answer, sample.attachments) if isinstance(answer, str) else None,
        extracted=given.get("value") != "N",
        reason=attached(reason, sample.attachments) if isinstance(reason, str) else None,
        metadata=metadata if isinstance(metadata, dict) and metadata else None,
    )


def _values(value: Any) -> dict[str, ScoreValue]:
    if isinstance(value, dict):
        return {str(name): _number(each) for name, each in value.items()}
    if isinstance(value, list):
        return {str(at): _number(each) for at, each in enumerate(value)}
    label: dict[str, ScoreValue] = {"value": value} if isinstance(value, str) else {}
    return {"score": _number(value), **label}


def _number(value: Any) -> ScoreValue:
    """None for what is not a number to Inspect either, which counts it as 0 with a warning."""
    if isinstance(value, str):
        number = NUMBERS_OF_GRADES.get(value, NUMBERS_OF_GRADES.get(value.lower()))
        if number is None:
            try:
                number = float(value)
            except ValueError:
                return None
        return number if math.isfinite(number) else None
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None


def _answers(sample: LogSample) -> list[dict[str, Any]]:
    return [message for message in sample.messages if message.get("role") == "assistant"]


def _trace(sample: LogSample, model: str) -> Trace | None:
    """The conversation; None where the model said nothing."""
    given = sample.output.get("choices")
    choices = given if isinstance(given, list) else []
    if not choices and not _answers(sample):
        return None
    messages = chat_messages(sample)
    columns = conversation_columns(messages)
    text = sample.output.get("completion")
    prediction = (
        attached(text, sample.attachments) if choices and isinstance(text, str) else str(columns.get("output", ""))
    )
    with_tools = any(message.get("tool_calls") or message["role"] == "tool" for message in messages)
    return Trace(
        prediction=prediction,
        messages=tuple(Message(**message) for message in messages),
        completions=(_completion(sample, model, prediction, choices),),
        items=columns["trace"]["items"] if with_tools else None,
    )


def _completion(sample: LogSample, model: str, text: str, choices: list[Any]) -> Completion:
    """The last answer, with the tokens of all of them: the log has no others without its events."""
    choice = choices[0] if choices and isinstance(choices[0], dict) else {}
    reason = choice.get("stop_reason")
    used = _model_tokens(sample, model)
    seconds = sample.output.get("time")
    return Completion(
        text=text,
        finish_reason=_FINISHED.get(reason, reason) if isinstance(reason, str) else None,
        tokens_in=_tokens_in(used) if used else None,
        tokens_out=_count(used, "output_tokens") if used else None,
        tokens_cached=_count(used, "input_tokens_cache_read") or None,
        tokens_reasoning=_count(used, "reasoning_tokens") or None,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        reasoning=_reasoning(choice.get("message")),
    )


def _reasoning(message: Any) -> str | None:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    thoughts = [str(part.get("reasoning", "")) for part in parts if isinstance(part, dict)]
    return "\n".join(thought for thought in thoughts if thought) or None


def _model_tokens(sample: LogSample, model: str) -> dict[str, Any]:
    """What the evaluated model used for its answers; all that it used where it answered more than once."""
    last = sample.output.get("usage")
    if len(_answers(sample)) == 1 and isinstance(last, dict):
        return last
    return sample.model_usage.get(model, {})


def _other_usage(sample: LogSample, model: str, trace: Trace | None) -> tuple[Usage, ...]:
    """What graders used: other models, and the evaluated one beyond its answers."""
    usages = []
    for name, used in sample.model_usage.items():
        own = _model_tokens(sample, model) if name == model and trace is not None else {}
        tokens_in = _tokens_in(used) - _tokens_in(own)
        tokens_out = _count(used, "output_tokens") - _count(own, "output_tokens")
        if tokens_in > 0 or tokens_out > 0:
            usages.append(
                Usage(
                    model=name,
                    judge=name != model or trace is not None,
                    answers=1,
                    tokens_in=max(tokens_in, 0),
                    tokens_out=max(tokens_out, 0),
                )
            )
    return tuple(usages)


def _tokens_in(used: dict[str, Any]) -> int:
    """Inspect counts tokens that its server had cached apart from the others."""
    return sum(_count(used, name) for name in ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write"))


def _count(used: dict[str, Any], name: str) -> int:
    value = used.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _unix_time(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None
