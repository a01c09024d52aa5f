"""The settings of a search: what identifies it, what may change when it is resumed, and what is refused."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.seams import Model, identity_of
from assay.core.types import Request
from assay.costs.budget import SpendingLimits
from assay.evaluators.payload import Evaluator, ScoreRange, check_task_model
from assay.models.pool import PATIENCE_SECONDS
from assay.optimize.budget import CallEstimate, estimate
from assay.optimize.constraints import Constraints
from assay.optimize.engine_package import engine_version
from assay.optimize.feedback import ROOM
from assay.optimize.journal import ONE, Texts
from assay.optimize.objectives import SCORE
from assay.optimize.sets import HOLDOUT, SearchSets, make_sets, makes_testset

MINIBATCH = 3
REMEMBER = 3
REPEATS_IN_A_ROW = 20
"""After this many consecutive rounds of proposals without a new text, the proposer is only repeating itself.

Repeats are normal where there are few small changes to make, as in a regular expression, and cost few evaluations."""
CURRENT, RESULTS = "<curr_param>", "<side_info>"
"""Where your own template has the current text and the results, by the names that GEPA gave them."""


class SearchStrategy(Struct, frozen=True, kw_only=True):
    """The engine's own options, by its own names."""

    selector: Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"] = "pareto"
    frontier: Literal["instance", "objective", "hybrid", "cartesian"] = "instance"
    acceptance: Literal["strict_improvement", "improvement_or_equal"] = "strict_improvement"
    components: Literal["round_robin", "all"] = "round_robin"
    """Which components of a candidate are rewritten at a time."""
    proposals: int = 1
    """How many are made at once."""
    sampling: Literal["same_parent", "independent"] = "independent"
    """Whether those rewrite one text or several."""
    merges: int = 0
    """How many times, at most, the components of two texts are merged."""
    objectives: tuple[str, ...] = ()
    """What the frontier uses in addition to the score; none takes the sub-scores as they come."""
    chosen_by: str = SCORE


class SearchSettings(Struct, frozen=True, kw_only=True):
    """Everything that a user can set for a search."""

    seed: str | Texts | None
    """A text, or several by the names of their components. None: the proposer writes the first text."""
    dataset: list[dict[str, Any]] | None = None
    valset: list[dict[str, Any]] | None = None
    """None: the dataset is also what candidates are selected on."""
    testset: list[dict[str, Any]] | None = None
    split: str | None = None
    """Shares such as `60/40`: the dataset, without what is held out, is cut into dataset and valset; `50/25/25` makes
    a testset too."""
    holdout: float | None = None
    """The part of the data that becomes the testset where none is given; None takes 0.3, or what the folder had."""
    objective: str = ""
    background: str = ""
    template: str | None = None
    """The proposer's whole prompt, with `<curr_param>` and `<side_info>` in it; None takes assay's own."""
    feedback_characters: int = ROOM
    """Of one example."""
    remember: int = REMEMBER
    """How many rejected rewritings of the same text a proposer is shown."""
    score_range: ScoreRange = "unit"
    task_model: str | None = None
    constraints: Constraints = Constraints()
    random_seed: int = 0
    minibatch: int = MINIBATCH
    repeat: int = 1
    """How often every evaluation is made; its score is the mean."""
    demonstrations: int = 0
    """How many examples of the dataset are shown in the text, as a component that is searched too."""
    strategy: SearchStrategy = SearchStrategy()
    proposer_request: Request = Request()
    """Temperature, length and seed of the proposer's answers."""

    budget: int = 100
    """When the search ends. Looked at between proposals, so it may be overrun by one of them."""
    max_proposals: int | None = None
    target_score: float | None = None
    max_stale_proposals: int | None = None
    """How many proposals in a row may bring no better text on the valset."""
    max_repeats: int = REPEATS_IN_A_ROW
    """How many rounds of proposals in a row may bring no new text."""
    failures_in_a_row: int = 25
    concurrency: int = 4
    budget_cost: float | None = None
    budget_tokens: int | None = None
    patience_seconds: float = PATIENCE_SECONDS
    """How long the search waits for a scoring service that is unavailable."""
    prices: str | None = None
    """The price file; None takes the one in the folder, else assay's own."""

    @property
    def texts(self) -> Texts | None:
        return {ONE: self.seed} if isinstance(self.seed, str) else self.seed

    @property
    def component_names(self) -> tuple[str, ...]:
        """Those that evaluators get; none when the candidate is one text."""
        return () if self.texts is None or list(self.texts) == [ONE] else tuple(self.texts)

    @property
    def spending_limits(self) -> SpendingLimits:
        return SpendingLimits(budget_tokens=self.budget_tokens, budget_cost=self.budget_cost, prices=self.prices)

    def sets(self, holdout: float | None = None) -> SearchSets:
        """The sets as they are used, with a part held out; `holdout` is what an earlier session had."""
        sets = self._sets(holdout)
        if self.demonstrations and sets.shared:
            raise UsageError(
                f"--demonstrations are picked from the dataset, and {sets.shared} records of the valset are in it: "
                "a text would be selected on its own examples. Give sets without common records, or use --split"
            )
        return sets

    def _sets(self, holdout: float | None) -> SearchSets:
        share = self.holdout if self.holdout is not None else holdout
        if share is None:
            share = 0.0 if self.testset else HOLDOUT
        # a testset that was added later takes the place of what was held out, which stays out
        given = None if share else self.testset
        sets = make_sets(
            self.dataset, self.valset, given, holdout=share, random_seed=self.random_seed, shares=self.split
        )
        if not share or not self.testset:
            return sets
        alone = make_sets(self.dataset, self.valset, self.testset, holdout=0.0, random_seed=self.random_seed)
        return msgspec.structs.replace(sets, testset=alone.testset, held_out=0)

    def identity(self, evaluator: Evaluator, sets: SearchSets) -> dict[str, str]:
        """What makes it this search, each part by its hash: its question, not who proposes, nor for how long."""
        parts = {
            "seed": self.texts,
            "dataset": [example.digest for example in sets.dataset],
            "valset": [example.digest for example in sets.valset],
            "evaluator": evaluator.identity,
            "score range": self.score_range,
            "task model": self.task_model,
            "random seed": self.random_seed,
            "minibatch": self.minibatch,
            "repeat": self.repeat,
            "demonstrations": self.demonstrations,
            "strategy": self.strategy,
            "engine": engine_version(),
        }
        return {name: fingerprint(part) for name, part in parts.items()}

    def changeable(self, proposer: Model, sets: SearchSets) -> dict[str, str]:
        """What may change when a search is resumed; a change is reported."""
        parts = {
            "proposer": identity_of(proposer),
            "proposer settings": self.proposer_request,
            "objective and background": [self.objective, self.background],
            "reflection": [self.template, self.feedback_characters, self.remember],
            "constraints": self.constraints,
            "testset": [example.digest for example in sets.testset],
            "budget": [self.budget, self.budget_cost, self.budget_tokens],
            "when to stop": [self.max_proposals, self.target_score, self.max_stale_proposals, self.max_repeats],
        }
        return {name: fingerprint(part) for name, part in parts.items()}


def estimated(settings: SearchSettings, sets: SearchSets) -> CallEstimate:
    """What the budget of these settings buys."""
    return estimate(
        settings.budget,
        dataset=len(sets.dataset),
        valset=len(sets.valset),
        testset=len(sets.testset),
        minibatch=settings.minibatch,
        repeat=settings.repeat,
    )


def check_settings(settings: SearchSettings) -> None:
    if settings.budget < 1:
        raise UsageError(f"--budget must be at least 1, got {settings.budget}")
    for flag, number in (
        ("--demonstrations", settings.demonstrations),
        ("--remember", settings.remember),
        ("--merge", settings.strategy.merges),
    ):
        if number < 0:
            raise UsageError(f"{flag} must be 0 or more, got {number}")
    for name in ("minibatch", "concurrency", "max_proposals", "max_stale_proposals", "max_repeats", "repeat"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    for flag, limit in (("--budget-cost", settings.budget_cost), ("--budget-tokens", settings.budget_tokens)):
        if limit is not None and not limit > 0:
            raise UsageError(f"{flag} must be above 0, got {limit}")
    if settings.target_score is not None and settings.target_score != settings.target_score:
        raise UsageError("--target-score must be a number, got nan")
    if settings.feedback_characters < 200:
        raise UsageError(f"--feedback-chars must be at least 200, got {settings.feedback_characters}")
    if settings.strategy.proposals < 1:
        raise UsageError(f"--proposals must be at least 1, got {settings.strategy.proposals}")
    check_task_model(settings.task_model)
    check_template(settings.template)
    _check_split(settings)
    _check_seed(settings)


def check_template(template: str | None, where: str = "--reflection-template") -> None:
    """A template without a place for text and results asks for nothing that can be done."""
    missing = [place for place in (CURRENT, RESULTS) if template is not None and place not in template]
    if missing:
        raise UsageError(f"{where}: has no {' and no '.join(missing)}, where the text and its results go")


def require_objective(settings: SearchSettings) -> None:
    """A model that is to write the first text needs an objective; a function of the user does not."""
    if settings.seed is None and not settings.objective.strip():
        raise UsageError("without a seed the proposer needs --objective: what the text is for")


def _check_split(settings: SearchSettings) -> None:
    if settings.split is None:
        return
    if settings.valset or settings.testset:
        raise UsageError("--split makes the valset and the testset; leave --valset and --testset out")
    if not settings.dataset:
        raise UsageError("--split cuts a --dataset or --task into parts; there is neither")
    if makes_testset(settings.split) and settings.holdout:
        raise UsageError(f"--split {settings.split} makes a testset, so nothing is held out; leave --holdout out")


def _check_seed(settings: SearchSettings) -> None:
    if settings.demonstrations and settings.valset is None and settings.split is None:
        raise UsageError(
            "--demonstrations are picked from the dataset, so a text must be selected on other examples: "
            "give a --valset, or cut the data with --split"
        )
    if settings.seed is not None and not settings.texts:
        raise UsageError("a seed of several components needs at least one")
    for name in settings.texts or ():
        if not re.fullmatch(r"\w[\w.-]{0,99}", name):
            raise UsageError(
                f"component {name!r}: a name has letters, digits, `_`, `-` and `.`; it becomes a file's name"
            )
