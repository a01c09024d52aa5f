"""The summary of a search: written by `assay optimize`, shown by the viewer."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from assay.core.types import Failure
from assay.stats.paired_evidence import Basis


class SetScore(Struct, frozen=True, kw_only=True):
    """One text on one set; failures are excluded from the mean."""

    mean: float | None
    scored: int
    failed: int


class EvaluationRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One evaluation: of which candidate, on what, and everything that came of it."""

    candidate: int
    part: str
    index: int
    repeat: int = 1
    score: float | None = None
    output: str | None = None
    """What the candidate led to, where the evaluator says so."""
    scores: Any = None
    """Sub-scores as the evaluator gave them."""
    side_info: dict[str, Any] = {}
    failure: Failure | None = None
    seconds: float = 0.0
    cost: float | None = None
    """Of the models that were called, where prices are known."""
    reused: bool = False


class ExampleOutcomes(Struct, frozen=True, kw_only=True):
    """One example under the seed and under the best text; `evaluations` has the rest of what was seen."""

    part: str
    index: int
    record: dict[str, Any] | None
    seed: float | None
    best: float | None
    seed_failure: str | None
    best_failure: str | None


class Comparison(Struct, frozen=True, kw_only=True):
    """Seed and best on the same examples."""

    seed: SetScore
    best: SetScore
    difference: float | None
    pairs: int
    better: int
    worse: int
    selected_on: bool
    """Whether the search selected on this set; there is no interval and no verdict then."""
    verdict: str
    is_better: bool | None = None
    """Whether the best text is; None where this cannot be said."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    level: float = 0.95
    signature: str = ""
    basis: Basis | None = None
    """What the verdict rests on."""


class KeptCandidate(Struct, frozen=True, kw_only=True):
    """A kept candidate, where it came from, and what changed."""

    number: int
    parent: int | None
    calls: int
    mean: float | None
    failed: int
    text: str
    diff: list[str]
    """Against its parent, as a unified diff."""
    components: dict[str, str] = {}
    """When it has several."""
    merged_with: int | None = None
    """The candidate whose components it has in addition to those of its parent, when it is a merge."""


class Rejected(Struct, frozen=True, kw_only=True):
    """A candidate that was evaluated on a minibatch and not kept."""

    number: int
    texts: dict[str, str]
    parent: int | None
    iteration: int
    calls: int
    parent_score: float | None
    """Mean on the examples of the minibatch that both were scored on; None when there is none."""
    score: float | None
    reason: str
    failure: str | None = None
    """What the first failed evaluation said, when one failed that its parent did not fail."""


class ParetoFront(Struct, frozen=True, kw_only=True):
    """The kept texts by every objective, and those that no other is at least as good as in all of them."""

    objectives: list[str]
    lower_is_better: list[str]
    means: dict[str, dict[str, float]]
    """By the number of the candidate, then by objective, over the set that was selected on."""
    numbers: list[int]
    """The front."""
    chosen_by: str


class SearchSummary(Struct, frozen=True, kw_only=True):
    """What the viewer shows of a search."""

    evaluator: str
    proposer: str
    score_range: str
    selected_on: str
    """`valset`, `dataset`, or `text` when there are no examples."""
    stopped: str
    problem: str | None
    """Why the search did not do its work, or may not have; None when nothing went wrong."""
    verdict: str
    better: bool | None
    """Whether the best text is better than the seed on data that nothing was selected on; None when unknown."""
    best: str
    seed: str
    best_number: int
    proposals: dict[str, int]
    """`made`, `accepted`, `rejected`, `repeated` among those, and answers that were `unusable`."""
    calls: dict[str, int]
    """`asked` for, `used`, `from_cache`, `reused` from another search, `made_now`, and `retries` among those."""
    valset: Comparison
    testset: Comparison | None
    held_out: int
    """How many records of the data the testset is made of; 0 when it was given, or there is none."""
    lineage: list[KeptCandidate]
    rejected: list[Rejected]
    front: ParetoFront | None
    examples: list[ExampleOutcomes]
    evaluations: list[EvaluationRow]
