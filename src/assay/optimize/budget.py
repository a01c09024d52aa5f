"""What a budget buys, reported before anything is spent."""

from __future__ import annotations

from msgspec import Struct

from assay.core.errors import UsageError


class CallEstimate(Struct, frozen=True, kw_only=True):
    """Evaluator calls, counted before the search."""

    budget: int
    for_the_seed: int
    """To score the seed on the whole valset."""
    per_proposal: int
    """At most: the parent and the new text on a minibatch; what was measured before is not paid again."""
    per_accepted: int
    """On top, to score an accepted text on the whole valset."""
    fewest_proposals: int
    """When every proposal is accepted."""
    most_proposals: int
    """When none is."""
    outside_the_budget: int
    """To score seed and best on the testset, or on what is held out."""
    recommended: int

    def in_words(self) -> str:
        text = (
            f"budget: {self.budget} evaluator calls, of which {self.for_the_seed} score the seed; enough for about "
            f"{self.fewest_proposals} to {self.most_proposals} proposals "
            f"(up to {self.per_proposal} calls each, {self.per_accepted} more for each accepted one)"
        )
        if self.outside_the_budget:
            text += f"; the verdict costs up to {self.outside_the_budget} more calls"
        return text

    def refuse_too_small(self) -> None:
        """A budget that scoring the seed uses up leaves nothing for a search."""
        if self.budget <= self.for_the_seed:
            raise UsageError(
                f"--budget {self.budget} leaves no call for a proposal: scoring the seed takes "
                f"{self.for_the_seed} evaluator calls. {self.recommended} or more is usual."
            )

    def warning(self) -> str | None:
        """Why the budget is too small to be useful; None when it is not."""
        if self.fewest_proposals >= 3:
            return None
        return f"this budget is too small for three accepted proposals; {self.recommended} or more is usual"


def estimate(budget: int, *, dataset: int, valset: int, testset: int, minibatch: int, repeat: int = 1) -> CallEstimate:
    """`dataset` and `valset` are numbers of records: 1 and 1 without sets, the same set twice without a valset."""
    per_proposal = 2 * min(minibatch, dataset) * repeat
    valset *= repeat
    left = max(0, budget - valset)
    return CallEstimate(
        budget=budget,
        for_the_seed=valset,
        per_proposal=per_proposal,
        per_accepted=valset,
        fewest_proposals=left // (per_proposal + valset),
        most_proposals=left // per_proposal,
        outside_the_budget=2 * testset * repeat,
        recommended=15 * max(valset, 1),
    )
