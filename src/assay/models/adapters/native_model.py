"""A user's own `Model` in a run: its settings, the errors of its client, and the types of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper
from assay.core.seams import Model, TakesBatches
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.client_errors import trouble_of
from assay.overriding import override
from assay.text.printable import one_line
from assay.text.tracebacks import describe_exception


class NativeModel(Wrapper):
    """A user's own model: if it has no settings, its source is part of them; network errors of its client become
    failures that end with the outage; an answer of the wrong type fails its request."""

    _settings: Mapping[str, Any] | None = None
    """The settings of a model that declares none."""

    def __init__(self, model: Model, identity: Mapping[str, Any] | None = None) -> None:
        super().__init__(model)
        self._settings = identity

    @property
    @override
    def settings(self) -> Mapping[str, Any]:
        return super().settings if self._settings is None else self._settings

    @override
    async def generate(self, request: Request) -> Completion:
        with self._failures_of_client():
            completion = await self.model.generate(request)
        return checked_completion(completion, self.name)

    @contextmanager
    def _failures_of_client(self) -> Iterator[None]:
        try:
            yield
        except FailureError:
            raise
        except Exception as error:
            if not self.offers.remote:
                raise
            raise failure_of_client(error, self.name) from error


class NativeBatchModel(NativeModel):
    """A native model that takes many requests in one call."""

    model: TakesBatches

    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]:
        with self._failures_of_client():
            answers = await self.model.generate_batch(requests)
        return [self._checked_or_failure(answer) for answer in answers]

    def _checked_or_failure(self, answer: Completion | FailureError) -> Completion | FailureError:
        try:
            return answer if isinstance(answer, FailureError) else checked_completion(answer, self.name)
        except FailureError as error:
            return error


def checked_completion(completion: Completion, part: str) -> Completion:
    """The answer; types are not checked when a user's program makes one, and later everything relies on them."""
    try:
        if not isinstance(completion, Completion):
            raise TypeError(f"it is a {type(completion).__name__}")
        msgspec.convert(msgspec.structs.asdict(completion), Completion)
    except (TypeError, ValueError) as error:
        message = one_line(f"the model returned something that is not a Completion: {error}", 600)
        raise FailureError(Failure(stage="model", part=part, kind="bad_output", message=message)) from error
    return completion


def failure_of_client(error: Exception, part: str) -> FailureError:
    """The failure of a third-party exception; an unreachable server is recognised."""
    trouble, description = trouble_of(error), describe_exception(error)
    message = one_line(description.message.removesuffix(": "), 600)
    is_bug = trouble.kind == "exception"
    failure = Failure(
        stage="model",
        part=part,
        kind=trouble.kind,
        message=f"{message} ({description.place})" if is_bug and description.place else message,
        retryable=trouble.retryable,
        traceback=description.traceback if is_bug else "",
    )
    return FailureError(failure, trouble.retry_after_seconds, trouble.away)
