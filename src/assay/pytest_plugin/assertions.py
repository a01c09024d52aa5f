"""The marker `assay_assertions`: assertions about the answer to one prompt, each a separate test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assay.catalog import unknown_name
from assay.overriding import override
from assay.pytest_plugin.measured import CannotMeasureError
from assay.scorers.assertions.assertion_kinds import ASSERTIONS
from assay.scorers.assertions.assertion_list import holds
from assay.text.wording import shortened, show

LONGEST_NAME = 60


def read_assertions(asserted: Sequence[Any]) -> list[dict[str, Any]]:
    """Objects with `type` and `value`, or texts `type: value`; an unknown type is an error at collection."""
    if isinstance(asserted, str | Mapping) or not asserted:
        raise pytest.UsageError("the marker assay_assertions takes a list of assertions")
    return [_read(item) for item in asserted]


def _read(asserted: Any) -> dict[str, Any]:
    if isinstance(asserted, str):
        kind, _, value = asserted.partition(":")
        asserted = {"type": kind.strip(), **({"value": value.strip()} if value else {})}
    if not isinstance(asserted, Mapping) or not isinstance(asserted.get("type"), str):
        raise pytest.UsageError(
            f"{show(asserted)} is not an assertion: write `contains: Paris` or an object with `type`"
        )
    kind = asserted["type"].removeprefix("not-")
    if kind not in ASSERTIONS:
        raise pytest.UsageError(unknown_name("assertion", asserted["type"], ASSERTIONS))
    return dict(asserted)


def name_of(asserted: Mapping[str, Any]) -> str:
    """`contains-Paris`: what the test is called."""
    value = asserted.get("value")
    return shortened(asserted["type"] if value is None else f"{asserted['type']}-{value}", LONGEST_NAME)


class PromptAssertion:
    """One assertion about the answer to a prompt: `assert assertion.holds`."""

    def __init__(self, prompt: str, asserted: Mapping[str, Any], answer: str) -> None:
        self.prompt = prompt
        self.asserted = dict(asserted)
        self.answer = answer

    @property
    def holds(self) -> bool:
        __tracebackhide__ = True
        try:
            return holds(self.answer, self.asserted)
        except Exception as error:
            raise CannotMeasureError(
                f"the assertion {show(self.asserted)} cannot be checked: {type(error).__name__}: {error}"
            ) from None

    @override
    def __repr__(self) -> str:
        prompt, answer = shortened(self.prompt, 200), shortened(self.answer, 400)
        return f"<{name_of(self.asserted)}: input {prompt!r}, answer {answer!r}>"
