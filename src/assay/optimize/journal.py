"""Everything a search paid for, one JSON line each: candidates, evaluations and proposals.

It is a store and a tape. A store: an evaluation is found again by evaluator, text, example and task model, whoever
proposed the text, in this search or another one that is named. A tape: a search is deterministic but for what evaluator
and proposer say, so resuming means to start again from the seed and to answer earlier requests from here. Nothing
is unpickled, and the end is that of an undisturbed run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.core.fingerprint import short_fingerprint
from assay.core.journal import Journal, Scored, read_journal
from assay.core.types import Failure, Usage
from assay.costs.spending import Spending
from assay.evaluators.payload import CandidateParts

FILE = "journal.jsonl"
_encode = msgspec.json.Encoder(enc_hook=repr).encode

Texts = dict[str, str]
"""A candidate: its texts by the names of the components. One text alone is called `text`."""
ONE = "text"


def candidate_of(texts: Texts) -> str:
    """What an evaluator is sent: the text, or all of them as one that knows its components."""
    return texts[ONE] if list(texts) == [ONE] else CandidateParts(texts)


class SearchEntry(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One line: a candidate, an evaluation of one, or a proposer's answer."""

    key: str
    kind: Literal["candidate", "evaluation", "proposal", "preflight", "probe", "repeats"]
    """`probe`: a text that had scored, evaluated again to see whether the evaluator or the candidate is at fault.
    `repeats`: the search ended because the proposer repeated itself; `index` says in how many answers."""
    candidate: int | None = None
    """Which one it is, was evaluated, or was to be improved: numbered as they come, 0 is the seed."""
    texts: Texts = {}
    part: str = ""
    """The set of the example, and its place there; of a proposal, the component that was to be rewritten."""
    index: int | None = None
    repeat: int = 1
    score: float | None = None
    side_info: dict[str, Any] = {}
    failure: Failure | None = None
    of_the_text: bool = False
    """Whether the text is at fault for the failure, and not the evaluator, which still scores other texts."""
    text: str | None = None
    """The answer as it came."""
    finish_reason: str | None = None
    unusable: str | None = None
    """Why no text could be read from the answer."""
    model: str = ""
    seconds: float = 0.0
    reused: bool = False
    """Paid for by another search."""
    usage: tuple[Usage, ...] = ()
    """What models used for it, those of answers that failed included."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        return () if self.failure is None else (self.failure,)


class SearchJournal:
    """Append-only. Failures are recorded for the reader, and retried when the search is resumed, unless the text is at
    fault.

    So are the unusable answers at the end of the tape, and the repeats that a search ended with: the proposer may have
    been helped since.
    """

    def __init__(self, path: Path) -> None:
        self.spent: dict[tuple[str, str], Spending] = {}
        """By role and name of the model, what was used, also for what failed and in earlier sessions."""
        self.on_entry: Callable[[SearchEntry], object] | None = None
        """Called with each line that is written."""
        self.candidates: list[Texts] = []
        self.proposers: list[str] = []
        """Every model that a proposal came from, in order."""
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self.settled: dict[str, SearchEntry] = {}
        """Every evaluation that is not retried, by its key: it gave a score, or its text is at fault."""
        self.answers: dict[str, SearchEntry] = {}
        """Every answer of the proposer that is not asked for again, by its key."""
        self._evaluated: dict[str, SearchEntry] = {}
        self._unusable: list[SearchEntry] = []
        self._proposed: list[str] = []
        """The keys of the usable answers, in order."""
        self.borrows = False
        """Whether another search answers too."""
        self._borrowed: dict[str, dict[str, SearchEntry]] = {"evaluation": {}, "proposal": {}}
        self._journal = Journal(path)
        try:
            for line in read_journal(path, SearchEntry):
                self._keep(line.record)
        except BaseException:
            self._journal.close()
            raise

    def __len__(self) -> int:
        return len(self.settled) + len(self.answers)

    def borrow(self, path: Path, kinds: tuple[str, ...]) -> int:
        """Answer from the journal of another search too; how many answers that adds."""
        self.borrows = True
        before = sum(map(len, self._borrowed.values()))
        proposed: list[str] = []
        for line in read_journal(path, SearchEntry):
            entry = line.record
            if entry.kind == "repeats":
                _forget(self._borrowed["proposal"], proposed, entry.index or 0)
            elif entry.kind in kinds and isinstance(line, Scored) and entry.unusable is None:
                self._borrowed[entry.kind][entry.key] = entry
                proposed += [entry.key] if entry.kind == "proposal" else []
        return sum(map(len, self._borrowed.values())) - before

    def evaluations(self) -> list[SearchEntry]:
        """Every evaluation as it stands, failures included, by candidate, set and place."""
        of = self._evaluated.values()
        return sorted(of, key=lambda each: (each.candidate, each.part, each.index or 0, each.repeat))

    def number_of(self, texts: Texts) -> int:
        """The number of a candidate, which it gets when it is first met."""
        known = frozenset(texts.items())
        if known not in self._numbers:
            key = short_fingerprint(texts)
            self.add(SearchEntry(kind="candidate", key=key, candidate=len(self.candidates), texts=texts))
        return self._numbers[known]

    def find_elsewhere(
        self,
        kind: Literal["evaluation", "proposal"],
        key: str,
        *,
        candidate: int | None,
        part: str,
        index: int | None = None,
    ) -> SearchEntry | None:
        """What another search was answered to this question, as an answer of this one."""
        answer = self._borrowed[kind].get(key)
        if answer is None:
            return None
        taken = msgspec.structs.replace(answer, candidate=candidate, part=part, index=index, usage=(), reused=True)
        self.add(taken)
        return taken

    def add(self, entry: SearchEntry) -> None:
        """Write one line; it survives the death of this process from here on."""
        self._journal.write([_encode(entry)])
        self._keep(entry)
        if self.on_entry is not None:
            self.on_entry(entry)

    def close(self) -> None:
        self._journal.close()

    def _keep(self, entry: SearchEntry) -> None:
        for usage in entry.usage:
            self.spent.setdefault((_role(entry, usage), usage.model), Spending()).add_usage(usage)
        if entry.kind == "evaluation":
            self._evaluated[entry.key] = entry
            if entry.failure is None or entry.of_the_text:
                self.settled[entry.key] = entry
        elif entry.kind == "candidate":
            known = frozenset(entry.texts.items())
            if known not in self._numbers:
                self._numbers[known] = len(self.candidates)
                self.candidates.append(entry.texts)
        elif entry.kind == "proposal":
            self._keep_proposal(entry)
        elif entry.kind == "repeats":
            _forget(self.answers, self._proposed, entry.index or 0)

    def _keep_proposal(self, entry: SearchEntry) -> None:
        if entry.model not in self.proposers:
            self.proposers.append(entry.model)
        self._unusable.append(entry)
        if entry.unusable is None:
            # the search went past what was unusable before, so that is a part of its course
            self.answers |= {item.key: item for item in self._unusable}
            self._unusable = []
            self._proposed.append(entry.key)


def _forget(answers: dict[str, SearchEntry], proposed: list[str], count: int) -> None:
    """Let the last N proposals be requested again."""
    for _ in range(min(count, len(proposed))):
        answers.pop(proposed.pop(), None)


def _role(entry: SearchEntry, usage: Usage) -> str:
    if entry.kind == "proposal":
        return "proposer"
    return "judge" if usage.judge else "task model"
