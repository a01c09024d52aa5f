"""The contract of a model for those of assay, most of which speak to another end that adds up two numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from assay import testing
from assay.core.seams import Model, close_part
from assay.core.types import Request
from assay.testing import Exam
from assay.testing.model import question

__all__ = ["ARITHMETIC", "Exam", "check_model", "closing", "question"]

ARITHMETIC = Exam(answer=lambda a, b: str(a + b), breaking=Request(prompt="break"))
"""For models whose other end is scripted: it adds, and fails for any prompt with `break` in it."""


def check_model(make: Callable[[], AbstractAsyncContextManager[Model]], exam: Exam = ARITHMETIC) -> None:
    testing.check_model(make, exam)


@asynccontextmanager
async def closing(model: Model) -> AsyncIterator[Model]:
    try:
        yield model
    finally:
        await close_part(model)
