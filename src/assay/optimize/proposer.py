"""Where new texts come from: a model that is asked for one fenced text, or a function of the user's.

A proposer's answer is keyed by what it was shown, the text and the examples, not by how it was called:
another model, another temperature or another objective continues the search where the last one ended.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import FailureError
from assay.core.fingerprint import fingerprint
from assay.core.run import Stop
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Message, Request
from assay.core.usage import Account, AccountEntry, usage_of
from assay.costs.budget import SearchBudget
from assay.optimize.answer_block import UnusableAnswerError, text_in
from assay.optimize.demonstrations import COMPONENT, Demonstrations
from assay.optimize.evaluations import ScoreOrFailure, SearchEnded
from assay.optimize.feedback import feedback
from assay.optimize.journal import SearchEntry, SearchJournal, Texts
from assay.optimize.reflection import RejectedText, first_draft_prompt, reflection_prompt
from assay.optimize.sets import SetExample
from assay.optimize.settings import SearchSettings

UNUSABLE_IN_A_ROW = 6
"""After this many consecutive unusable answers the proposer counts as broken."""
TRIES = 2
"""Attempts per text; the second prompt says what was wrong with the first text, or that it was tried already."""

ProposerFunction = Callable[[Texts, Mapping[str, Sequence[Mapping[str, Any]]], list[str]], Any]
"""`(candidate, feedback, components) -> {component: text}`, as GEPA has it; plain or async.

After the results, the feedback has a record for each text that was `rejected`, with the `reason`.
"""


class FunctionInPlaceOfModel:
    """Stands where the proposer's model would, so that journal, identity and result name the function."""

    def __init__(self, function: ProposerFunction) -> None:
        named = function if inspect.isroutine(function) else type(function)
        self.name = f"{named.__module__}:{named.__qualname__}"

    async def generate(self, request: Request) -> Completion:
        raise NotImplementedError(f"{self.name} is called with the texts and their results, not with a request")


class Shown(NamedTuple):
    """An evaluation that a proposer learns from."""

    outcome: ScoreOrFailure
    example: SetExample


class Rewriting(NamedTuple):
    """A component of a candidate that is to be rewritten, and how the candidate did."""

    texts: Texts
    component: str
    shown: Sequence[Shown]
    rejected: Sequence[RejectedText] = ()
    repeat_of: Callable[[str], str | None] | None = None
    """What is wrong with a text that was tried already; None for a new one."""

    @property
    def question(self) -> str:
        """What it is known by: the texts and the examples, whatever else the prompt says."""
        return fingerprint([self.texts, self.component, [evaluation.example.digest for evaluation in self.shown]])


class _Answer(NamedTuple):
    """What a proposer's answer comes to."""

    text: str | None
    reason: str | None
    """Why it cannot be used; None when it can."""


class Proposer:
    """Asks for texts, checks them against the constraints, and remembers what went wrong."""

    def __init__(
        self,
        model: Model,
        journal: SearchJournal,
        settings: SearchSettings,
        stop: Stop,
        *,
        money: SearchBudget | None = None,
        function: ProposerFunction | None = None,
        check: Callable[[Texts], str | None] | None = None,
        hidden: Sequence[str] = (),
        demonstrations: Demonstrations | None = None,
    ) -> None:
        self.failure: Failure | None = None
        """The first failure; with one the search is over."""
        self.asked = 0
        self.proposed = 0
        """Usable texts."""
        self.unusable: Counter[str] = Counter()
        """Answers that were never evaluated, by reason."""
        self.cut = 0
        """Examples that were too large to be shown whole."""
        self.failures_shown: set[int] = set()
        """Candidates that failed, as far as a proposer was shown it."""
        self._unusable_in_a_row = 0
        self._model = model
        self._journal = journal
        self._settings = settings
        self._stop = stop
        self._money = money
        self._function = function
        self._check = check
        self._hidden = hidden
        """Fields of a record that tell a proposer nothing."""
        self._demonstrations = demonstrations
        self._times: Counter[str] = Counter()

    async def propose(self, wanted: Sequence[Rewriting]) -> list[str | None]:
        """A new text for each, asked for at once; None where there is no usable one, and `failure` says if for good."""
        # a function receives the records themselves
        prompts = [self._prompt(rewriting) if self._function is None else "" for rewriting in wanted]
        return await self._texts([rewriting.question for rewriting in wanted], prompts, wanted)

    async def first_draft(self, component: str, examples: Sequence[dict[str, Any]]) -> str | None:
        """A text to begin with, where there is no seed."""
        prompt = first_draft_prompt(self._settings, component, examples)
        draft = Rewriting({component: ""}, component, ())
        return (await self._texts([fingerprint(["first draft", component])], [prompt], [draft]))[0]

    async def _texts(
        self, questions: Sequence[str], prompts: Sequence[str], wanted: Sequence[Rewriting]
    ) -> list[str | None]:
        texts: list[str | None] = [None] * len(wanted)
        wanted = list(wanted)
        keys = []
        for question in questions:
            # the same request may be repeated, and a model may then answer differently
            self._times[question] += 1
            keys.append([question, self._times[question]])
        complaints = dict.fromkeys(range(len(wanted)), "")
        for tried in range(1, TRIES + 1):
            todo = [at for at, complaint in complaints.items() if (tried == 1 or complaint) and self.failure is None]
            asking = [
                self._answer(fingerprint([*keys[at], tried]), prompts[at], complaints[at], wanted[at], tried)
                for at in todo
            ]
            # one at a time is what most searches do, and needs no task of its own
            answers = [await asking[0]] if len(asking) == 1 else await asyncio.gather(*asking) if asking else []
            for at, answer in zip(todo, answers, strict=True):
                # in the order of the requests, whichever was answered first
                text, complaints[at] = self._used(answer)
                if text is not None:  # a known text is better than none
                    texts[at], complaints[at] = text, _repeated(wanted[at], text)
                if isinstance(answer, _Answer):
                    self._note_failures_shown(wanted[at])
                    wanted[at] = _with_complaint(wanted[at], answer.text, complaints[at])
        return texts

    def _note_failures_shown(self, wanted: Rewriting) -> None:
        if not self._picks(wanted):
            failed = (candidate.number for candidate in wanted.rejected if candidate.failure is not None)
            self.failures_shown.update(number for number in failed if number is not None)

    def _prompt(self, wanted: Rewriting) -> str:
        results = []
        for shown in wanted.shown:
            example = self._without_hidden(shown.example)
            result, cut = feedback(shown.outcome, example, self._settings.feedback_characters)
            results.append(result)
            self.cut += cut
        return reflection_prompt(self._settings, wanted.texts, wanted.component, results, wanted.rejected)

    def _without_hidden(self, example: SetExample) -> SetExample:
        if not self._hidden or example.record is None:
            return example
        record = {name: value for name, value in example.record.items() if name not in self._hidden}
        return msgspec.structs.replace(example, record=record)

    def _used(self, answer: _Answer | Failure) -> tuple[str | None, str]:
        """The text of an answer, or why it has none."""
        if isinstance(answer, Failure):
            self.failure = self.failure or answer
            return None, ""
        self.asked += 1
        text, reason = answer
        if reason is None:
            self._unusable_in_a_row = 0
            self.proposed += 1
            return text, ""
        self.unusable[reason] += 1
        self._unusable_in_a_row += 1
        if self._unusable_in_a_row >= UNUSABLE_IN_A_ROW and self.failure is None:
            message = f"{self._unusable_in_a_row} answers in a row could not be used; the last one: {reason}"
            self.failure = Failure(stage="model", kind="bad_output", part=self._model.name, message=message)
        return None, reason

    def _read(self, entry: SearchEntry, wanted: Rewriting) -> _Answer:
        if entry.unusable is not None:
            return _Answer(entry.text, entry.unusable)
        if entry.finish_reason == "length":
            return _Answer(None, "it was cut off at the token limit")
        try:
            plain = self._function is not None or self._picks(wanted)
            current, answer = wanted.texts[wanted.component], entry.text or ""
            text = answer if plain else text_in(answer, current, or_whole=entry.repeat == TRIES)
        except UnusableAnswerError as error:
            return _Answer(None, str(error))
        broken = self._settings.constraints.broken_by(text, wanted.component)
        if broken is None and self._check is not None:
            broken = self._check({**wanted.texts, wanted.component: text})
        return _Answer(text, broken)

    async def _answer(self, key: str, prompt: str, complaint: str, wanted: Rewriting, tried: int) -> _Answer | Failure:
        number = self._journal.number_of(wanted.texts) if wanted.shown else None
        known = self._journal.answers.get(key) or self._journal.find_elsewhere(
            "proposal", key, candidate=number, part=wanted.component
        )
        if known is not None:
            return self._read(known, wanted)
        if self._stop.interrupted or (self._money is not None and self._money.used_up is not None):
            raise SearchEnded
        unanswered = SearchEntry(kind="proposal", key=key, candidate=number, part=wanted.component, repeat=tried)
        if self._demonstrations is not None and self._picks(wanted):
            entry = msgspec.structs.replace(
                unanswered, text=self._pick(self._demonstrations, key, wanted), model=COMPONENT
            )
            self._journal.add(entry)
            return self._read(entry, wanted)
        if complaint:
            prompt = f"{prompt}\n\nYour last answer could not be used: {complaint}. Answer again."
        try:
            entry = await self._ask(unanswered, prompt, wanted)
        except FailureError as error:
            return error.failure
        answer = self._read(entry, wanted)
        self._journal.add(entry if answer.reason is None else msgspec.structs.replace(entry, unusable=answer.reason))
        return answer

    def _picks(self, wanted: Rewriting) -> bool:
        return self._demonstrations is not None and wanted.component == COMPONENT

    def _pick(self, demonstrations: Demonstrations, key: str, wanted: Rewriting) -> str:
        ranked = sorted(wanted.shown, key=lambda shown: shown.outcome.score or 0.0)
        return demonstrations.pick(key, [shown.example.record for shown in ranked if shown.example.record is not None])

    async def _ask(self, unanswered: SearchEntry, prompt: str, wanted: Rewriting) -> SearchEntry:
        message = Message(role="user", content=prompt)
        request = msgspec.structs.replace(
            self._settings.proposer_request, messages=(message,), attempt=unanswered.repeat
        )
        try:
            if self._function is not None:
                completion = Completion(text=await self._from_function(self._function, wanted))
            else:
                completion = await self._model.generate(request)
        except FailureError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:2000]
            failure = Failure(stage="model", kind="exception", part=self._model.name, message=said)
            raise FailureError(failure) from error
        # half a character cannot be written to a file or sent to an evaluator
        text = completion.text.encode("utf-8", "replace").decode()
        rows = [] if self._function is not None else [AccountEntry(self._model.name, False, request, completion)]
        return msgspec.structs.replace(
            unanswered,
            text=text,
            finish_reason=completion.finish_reason,
            model=self._model.name,
            usage=usage_of(Account(rows)),
        )

    async def _from_function(self, function: ProposerFunction, wanted: Rewriting) -> str:
        records = [
            {
                "score": shown.outcome.score,
                **({"error": shown.outcome.failure.message} if shown.outcome.failure else {}),
                "example": shown.example.record,
                **shown.outcome.side_info,
            }
            for shown in wanted.shown
        ]
        records += [
            {
                "score": None,
                **({"error": candidate.failure} if candidate.failure else {}),
                "example": None,
                "rejected": candidate.after,
                "reason": candidate.reason,
            }
            for candidate in wanted.rejected
        ]
        made = function(dict(wanted.texts), {wanted.component: records}, [wanted.component])
        made = await made if inspect.isawaitable(made) else made
        text = made.get(wanted.component) if isinstance(made, Mapping) else made
        if not isinstance(text, str):
            raise TypeError(f"the proposer function gave {json.dumps(made, default=repr)[:200]}, not a text")
        return text


def _repeated(wanted: Rewriting, text: str) -> str:
    """What to say about a known text; empty for a new one."""
    return (wanted.repeat_of(text) or "") if wanted.repeat_of is not None else ""


def _with_complaint(wanted: Rewriting, text: str | None, complaint: str) -> Rewriting:
    """What a function is asked for next: its last text is among the rejected ones, with what is wrong with it."""
    if not complaint or text is None:
        return wanted
    last = RejectedText(before=wanted.texts[wanted.component], after=text, reason=complaint)
    return wanted._replace(rejected=[*wanted.rejected, last])
