"""Few-shot examples in front of a question: rows of a dataset or a list, as turns of the conversation or as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from assay.core.seams import BuildContext
from assay.core.types import Message, Sample
from assay.prompts.few_shot import render
from assay.prompts.field_template import FieldTemplate
from assay.prompts.written_text import as_written
from assay.solvers.conversation_options import FewShotOptions

Row = dict[str, Any]


class FewShot:
    """The examples of a task, each rendered once; a sample is never an example of itself."""

    def __init__(self, given: FewShotOptions, question: str, context: BuildContext) -> None:
        """`given` is the solver's `few_shot`; examples without a `user` template use `question`."""
        self._rows: list[Row] = [dict(row) for row in given["examples"]]
        self._count = given.get("count") or len(self._rows)
        self._as_text = given.get("style") == "text"
        where = "definition.solver.few_shot"
        context = replace(context, templates=[])  # their columns are those of the examples
        self._user, self._assistant = (
            FieldTemplate(source, field=f"{where}.{name}", stage="solver", part="single_turn_solver", context=context)
            for name, source in (("user", given.get("user") or question), ("assistant", given["assistant"]))
        )

    def before(self, messages: Sequence[Message], sample: Sample) -> tuple[Message, ...]:
        """The messages with the examples before the last one."""
        pairs = [self._pair(row, sample) for row in self._rows if row != as_written(sample)][: self._count]
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
