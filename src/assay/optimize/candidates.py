"""The candidates of a search, kept and rejected, and which of them is the best one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.journal import Texts
from assay.optimize.objectives import mean_objective
from assay.optimize.search_settings import SCORE
from assay.results.search_rows import Rejected

MISSED_SHARE = 10
"""A text that could not be scored on 1 in so many of the examples (and on two at least) that another one could be
scored on is not compared with it on the rest."""

MERGE_REJECTED = "a merge no better than its parents"

StopReason = str
"""One of `results.STOPPED`."""


class Accepted(Struct, frozen=True, kw_only=True, dict=True):
    """A candidate that was kept: it did better than its parent on a minibatch and was scored on the whole valset."""

    number: int
    """As the journal numbers candidates; 0 is the seed."""
    texts: Texts
    parent: int | None
    iteration: int
    calls: int
    """Evaluator calls used when it had been scored."""
    merged_with: int | None = None
    """The other candidate whose components it has in addition to those of its parent."""
    outcomes: list[ScoreOrFailure]
    """On the valset, in its order."""

    @cached_property
    def mean(self) -> float | None:
        """Over the examples that were scored; None when none was."""
        scores = [outcome.score for outcome in self.outcomes if outcome.score is not None]
        return sum(scores) / len(scores) if scores else None

    @cached_property
    def failed(self) -> int:
        return len([outcome for outcome in self.outcomes if outcome.failure is not None])


class Search:
    """What is known of a search while it runs and when it has ended."""

    def __init__(self, on_news: Callable[[Search], None], chosen_by: str = SCORE) -> None:
        self.kept: list[Accepted] = []
        self.rejected: list[Rejected] = []
        self.stop_reason: StopReason | None = None
        self.iterations = 0
        self.kept_again = 0
        """Proposals that were accepted and turned out to be a text that is kept already."""
        self.repeated = 0
        """Proposals of texts that had been proposed or scored before."""
        self.answers_since_new = 0
        """Usable answers of the proposer since the last one that made a new text."""
        self.last: str = ""
        self.chosen_by = chosen_by
        self._on_news = on_news
        self._best: Accepted | None = None

    @property
    def best(self) -> Accepted:
        """The one that no later one beats on the examples that both were scored on; the earliest of equals."""
        if self._best is None:
            raise LookupError("nothing was scored yet")
        return self._best

    @property
    def proposals(self) -> int:
        """So many were evaluated."""
        return len(self.kept) - 1 + len(self.rejected) + self.kept_again

    @property
    def merges(self) -> int:
        """Candidates that have the components of two others, kept or not."""
        return sum(item.merged_with is not None for item in self.kept) + sum(
            item.reason == MERGE_REJECTED for item in self.rejected
        )

    @property
    def new_texts(self) -> set[int]:
        """The candidates that are not the seed, by number."""
        return {item.number for item in self.kept[1:]} | {item.number for item in self.rejected} - {self.kept[0].number}

    @property
    def tried_nothing_new(self) -> bool:
        """Whether every proposal was the seed again."""
        return not self.new_texts

    def keep(self, candidate: Accepted) -> bool:
        """Add a candidate; whether it is the best one now."""
        self.kept.append(candidate)
        if self._best is None or beats(candidate, self._best, self.chosen_by):
            self._best = candidate
        return self._best is candidate

    def choose_again(self, candidates: Sequence[Accepted]) -> None:
        """Take the candidates for what they have been found to be meanwhile."""
        self.kept, self._best = [], None
        for candidate in candidates:
            self.keep(candidate)

    def news(self, sentence: str) -> None:
        self.last = sentence
        self._on_news(self)


def by_bad_luck(candidate: Accepted) -> bool:
    """Whether so few examples of a candidate failed that it need not be the text."""
    return 0 < candidate.failed <= max(1, len(candidate.outcomes) // MISSED_SHARE)


def beats(one: Accepted, other: Accepted, chosen_by: str = SCORE) -> bool:
    """Whether a candidate is better than another on the examples that both have.

    One that could not be scored where the other one could, and not by chance alone, does not win on the rest.
    """
    scored, scored_other = (len(item.outcomes) - item.failed for item in (one, other))
    slack = max(1, len(one.outcomes) // MISSED_SHARE)
    common = [
        (mine, theirs)
        for mine, theirs in zip(one.outcomes, other.outcomes, strict=True)
        if mine.failure is None and theirs.failure is None
    ]
    if abs(scored - scored_other) > slack or not common:
        return scored > scored_other
    mine = mean_objective(one.texts, [each for each, _ in common], chosen_by)
    theirs = mean_objective(other.texts, [each for _, each in common], chosen_by)
    return mine is not None and (theirs is None or mine > theirs)
