"""How a model-graded eval asks: each input of a sample once, or as often as its template wants answers."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Message, Request, Sample, Trace
from assay.solvers.single_turn import generation_of
from assay.tasks.openai_evals.samples import is_chat


class NamedCompletions:
    """The trace's items hold each answer under the name that the template has for it."""

    def __init__(self, input_outputs: Mapping[str, str], n: int, output_template: str | None) -> None:
        self._input_outputs = input_outputs
        self._n = n
        self._template = output_template

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        row = sample.row or {}
        completions: list[Completion] = []
        items: list[dict[str, Any]] = []
        for name, output in self._input_outputs.items():
            if output in row:  # the sample brings the answer along
                items.append({"type": "completion", "name": output, "content": str(row[output])})
                continue
            requests = [_request(row[name], sample, attempt) for attempt in range(1, self._n + 1)]
            answers = await asyncio.gather(*(model.generate(request) for request in requests))
            completions += answers
            texts = [answer.text for answer in answers]
            text = texts[0] if self._template is None or self._n == 1 else _side_by_side(texts, self._template)
            items.append({"type": "completion", "name": output, "content": text})
        first = next(iter(self._input_outputs))
        asked = row.get(first)
        return Trace(
            prediction=items[0]["content"],
            prompt=asked if isinstance(asked, str) else None,
            messages=tuple(_messages(asked)) if is_chat(asked) else None,
            completions=tuple(completions),
            items=items,
        )


def named_completions(
    *,
    input_outputs: Mapping[str, str],
    n: int = 1,
    output_template: str | None = None,
    context: BuildContext = NO_CONTEXT,
) -> NamedCompletions:
    """The answers that a model-graded eval of OpenAI's registry looks at: `input_outputs` names inputs and answers.

    With `n` more than 1 as many answers to each input are put into one text, each by `output_template`.
    """
    del context
    return NamedCompletions(input_outputs, n, output_template)


def _request(given: Any, sample: Sample, attempt: int) -> Request:
    settings = generation_of(sample)
    if is_chat(given):
        return Request(messages=tuple(_messages(given)), attempt=attempt, **settings)
    return Request(prompt=str(given), attempt=attempt, **settings)


def _messages(given: Any) -> list[Message]:
    return msgspec.convert(given, list[Message])


def _side_by_side(texts: list[str], template: str) -> str:
    letters = string.ascii_lowercase
    made = [
        template.format_map(
            {"i": at + 1, "i_abc": letters[at % 26], "i_ABC": letters[at % 26].upper(), "output": text, "n": len(texts)}
        )
        for at, text in enumerate(texts)
    ]
    return "".join(made).strip()
