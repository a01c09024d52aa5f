"""Few-shot examples in front of a question: rows of a dataset or a list, as turns of the conversation or as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.seams import BuildContext
from assay.core.types import Message, Sample
from assay.prompts.few_shot import render
from assay.prompts.field_template import FieldTemplate

Row = dict[str, Any]


class FewShot:
    """The examples of a task, each rendered once; a sample is never an example of itself."""

    def __init__(
        self, examples: Sequence[Row], *, user: str, assistant: str, count: int, style: str, context: BuildContext
    ) -> None:
        self._rows = list(examples)
        self._count = count
        self._as_text = style == "text"
        where = "definition.solver.few_shot"
        self._user, self._assistant = (
            FieldTemplate(source, field=f"{where}.{name}", stage="solver", part="single_turn_solver", context=context)
            for name, source in (("user", user), ("assistant", assistant))
        )

    def before(self, messages: Sequence[Message], sample: Sample) -> tuple[Message, ...]:
        """The messages with the examples before the last one."""
        pairs = [self._pair(row, sample) for row in self._rows if row != sample.row][: self._count]
        *earlier, last = messages
        if self._as_text:
            task = {"prompt": last.content, "few_shot_examples": pairs}
            return (*earlier, msgspec.structs.replace(last, content=render(task)))
        turns = [
            Message(role=role, content=pair[name])
            for pair in pairs
            for role, name in (("user", "prompt"), ("assistant", "completion"))
        ]
        return (*earlier, *turns, last)

    def _pair(self, row: Row, sample: Sample) -> dict[str, str]:
        variables = {"sample": row}
        return {
            "prompt": self._user.render(variables, sample),
            "completion": self._assistant.render(variables, sample),
        }


def few_shot_of(given: Mapping[str, Any] | None, question: str, context: BuildContext) -> FewShot | None:
    """The examples that a solver's `few_shot` holds; `question` is the template that they are asked with if none is."""
    if given is None:
        return None
    return FewShot(
        given["examples"],
        user=given.get("user") or question,
        assistant=given["assistant"],
        count=given.get("count") or len(given["examples"]),
        style=given.get("style", "turns"),
        context=context,
    )
