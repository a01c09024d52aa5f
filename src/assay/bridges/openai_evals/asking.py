"""The solver of a model-graded eval: sends each input of a sample once, or as often as its template needs answers."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.bridges.openai_evals.samples import is_chat
from assay.core.describe import SolverNeeds, describes
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Message, Request, Sample, Trace
from assay.solvers.single_turn import generation_of


class NamedCompletions:
    """The trace's items hold each answer under its name in the template."""

    def __init__(self, input_outputs: Mapping[str, str], n: int, output_template: str | None) -> None:
        self._input_outputs = input_outputs
        self._n = n
        self._template = output_template

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        row = sample.row or {}
        completions: list[Completion] = []
        items: list[dict[str, Any]] = []
        for name, output in self._input_outputs.items():
            if output in row:  # the sample contains the answer
                items.append({"type": "completion", "name": output, "content": str(row[output])})
                continue
            requests = [_request(row[name], sample, attempt) for attempt in range(1, self._n + 1)]
            answers = await asyncio.gather(*(model.generate(request) for request in requests))
            completions += answers
            texts = [answer.text for answer in answers]
            text = texts[0] if self._template is None or self._n == 1 else _side_by_side(texts, self._template)
            items.append({"type": "completion", "name": output, "content": text})
        first = next(iter(self._input_outputs))
        question = row.get(first)
        return Trace(
            prediction=items[0]["content"],
            prompt=question if isinstance(question, str) else None,
            messages=tuple(_messages(question)) if is_chat(question) else None,
            completions=tuple(completions),
            items=items,
        )


@describes(SolverNeeds())
def named_completions(
    *,
    input_outputs: Mapping[str, str],
    n: int = 1,
    output_template: str | None = None,
    context: BuildContext = NO_CONTEXT,
) -> NamedCompletions:
    """The answers that a model-graded eval of OpenAI's registry grades: `input_outputs` names inputs and answers.

    With `n` more than 1, `n` answers to each input are joined into one text, each rendered by `output_template`.
    """
    del context
    return NamedCompletions(input_outputs, n, output_template)


def _request(question: Any, sample: Sample, attempt: int) -> Request:
    settings = generation_of(sample)
    if is_chat(question):
        return Request(messages=tuple(_messages(question)), attempt=attempt, **settings)
    return Request(prompt=str(question), attempt=attempt, **settings)


def _messages(chat: Any) -> list[Message]:
    return msgspec.convert(chat, list[Message])


def _side_by_side(texts: list[str], template: str) -> str:
    letters = string.ascii_lowercase
    rendered = [
        template.format_map(
            {"i": at + 1, "i_abc": letters[at % 26], "i_ABC": letters[at % 26].upper(), "output": text, "n": len(texts)}
        )
        for at, text in enumerate(texts)
    ]
    return "".join(rendered).strip()
