"""The model that rewrites the text, as the search engine calls it: a prompt in, one fenced text out.

The engine swallows whatever its language model raises and goes on with the seed as if nothing had happened. So the
first failure is kept here, where the search looks for it, and no further call is made.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from assay.core.errors import FailureError
from assay.core.fingerprint import fingerprint
from assay.core.seams import Model
from assay.core.types import Failure, Message, Request
from assay.core.usage import Account, Noted, usage_of
from assay.optimize.answer_block import UnusableAnswerError, text_in
from assay.optimize.constraints import Constraints
from assay.optimize.journal import Entry, Journal

UNUSABLE_IN_A_ROW = 6
"""So many unusable answers one after another, and the proposer counts as broken."""


class Proposer:
    """Asks the model, checks its text against the constraints, and remembers what went wrong."""

    total_cost = 0.0
    """Read by the engine, which otherwise wraps its language model in one of its own."""

    def __init__(
        self, model: Model, journal: Journal, constraints: Constraints, runner: asyncio.Runner, settings: Request
    ) -> None:
        self.failure: Failure | None = None
        """The first failure; with one the search is over."""
        self.asked = 0
        self.made = 0
        """Calls made by this process; the rest was answered from the journal."""
        self.proposed = 0
        """Usable texts."""
        self.unusable: Counter[str] = Counter()
        """Answers that were never evaluated, by reason."""
        self.texts: list[str] = []
        self._unusable_in_a_row = 0
        self._model = model
        self._journal = journal
        self._constraints = constraints
        self._runner = runner
        self._settings = settings
        self._times_asked: Counter[str] = Counter()
        self._complaint: tuple[str, str] | None = None

    def __call__(self, prompt: str | list[dict[str, Any]]) -> str:
        """One proposal, fenced as the engine wants it. Raises when there is none; is that final, `failure` is set."""
        if self.failure is not None:
            raise FailureError(self.failure)
        text = self.propose(prompt if isinstance(prompt, str) else str(prompt))
        return f"```\n{text}\n```"

    def propose(self, prompt: str) -> str:
        """One text that keeps the constraints. An unusable answer raises; the engine then asks once more."""
        complaint = self._complaint
        self._complaint = None
        if complaint is not None and complaint[0] == prompt:
            asked = f"{prompt}\n\nYour last answer could not be used: {complaint[1]}. Answer again."
        else:
            asked = prompt
        entry = self._answer(asked)
        try:
            if entry.finish_reason == "length":
                raise UnusableAnswerError("it was cut off at the token limit")
            text = text_in(entry.text or "")
            broken = self._constraints.broken_by(text)
            if broken is not None:
                raise UnusableAnswerError(broken)
        except UnusableAnswerError as error:
            self._refuse(prompt, str(error))
            raise
        self._unusable_in_a_row = 0
        self.proposed += 1
        self.texts.append(text)
        return text

    def _refuse(self, prompt: str, reason: str) -> None:
        self.unusable[reason] += 1
        self._complaint = (prompt, reason)
        self._unusable_in_a_row += 1
        if self._unusable_in_a_row >= UNUSABLE_IN_A_ROW:
            message = f"{self._unusable_in_a_row} answers in a row could not be used; the last one: {reason}"
            self.failure = Failure(stage="model", kind="bad_output", part=self._model.name, message=message)

    def _answer(self, prompt: str) -> Entry:
        self.asked += 1
        # the same question may be asked again, and a model may then say something else
        self._times_asked[prompt] += 1
        key = fingerprint([prompt, self._times_asked[prompt]])
        found = self._journal.find("proposal", key)
        if found is not None:
            return found
        try:
            entry = self._runner.run(self._ask(prompt, key, self._times_asked[prompt]))
        except FailureError as error:
            self.failure = error.failure
            raise
        self._journal.add(entry)
        return entry

    async def _ask(self, prompt: str, key: str, attempt: int) -> Entry:
        self.made += 1
        request = Request(
            messages=(Message(role="user", content=prompt),),
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            seed=self._settings.seed,
            attempt=attempt,
        )
        try:
            completion = await self._model.generate(request)
        except FailureError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"[:2000]
            failure = Failure(stage="model", kind="exception", part=self._model.name, message=message)
            raise FailureError(failure) from error
        # half a character cannot be written to a file or sent to an evaluator
        text = completion.text.encode("utf-8", "replace").decode()
        used = usage_of(Account([Noted(self._model.name, False, request, completion)]))
        return Entry(kind="proposal", key=key, text=text, finish_reason=completion.finish_reason, usage=used)


def first_draft_prompt(
    objective: str, background: str, constraints: Constraints, examples: Sequence[dict[str, Any]]
) -> str:
    """What the proposer is asked when there is no seed."""
    import json

    said = ["Write the first version of a text that will be improved step by step.", f"## Goal\n\n{objective}"]
    if background:
        said.append(f"## Background\n\n{background}")
    if constraints.in_words():
        said.append(f"## Rules\n\n{constraints.in_words()}")
    if examples:
        shown = "\n".join(json.dumps(example, ensure_ascii=False)[:2000] for example in examples)
        said.append(f"## Some of the cases it will be tried on\n\n{shown}")
    said.append("Answer with the text alone, complete, between one pair of ``` fences.")
    return "\n\n".join(said)
