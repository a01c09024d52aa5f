"""The settings of a search: what identifies it, what may change when it is resumed, and what is refused."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

import msgspec

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
from assay.optimize.journal import ONE, Texts
from assay.optimize.search_settings import HOLDOUT, SearchOptions, SearchStrategy
from assay.optimize.sets import SearchSets, make_sets, makes_testset
from assay.setting import AT_LEAST_1, Purpose, Setting, flag_of, problems_of

CURRENT, RESULTS = "<curr_param>", "<side_info>"
"""Where your own template has the current text and the results, by the names that GEPA gave them."""


class SearchSettings(SearchOptions, frozen=True, kw_only=True):
    """Everything that a user can set for a search: its options, its texts and data, and what is made of them."""

    seed: str | Texts | None
    """A text, or several by the names of their components. None: the proposer writes the first text."""
    dataset: list[dict[str, Any]] | None = None
    valset: list[dict[str, Any]] | None = None
    """None: the dataset is also what candidates are selected on."""
    testset: list[dict[str, Any]] | None = None
    objective: str = ""
    template: str | None = None
    """The proposer's whole prompt, with `<curr_param>` and `<side_info>` in it; None takes assay's own."""
    score_range: ScoreRange = "unit"
    task_model: str | None = None
    constraints: Constraints = Constraints()
    strategy: SearchStrategy = SearchStrategy()
    proposer_request: Request = Request()
    """Temperature, length and seed of the proposer's answers."""

    failures_in_a_row: int = 25
    concurrency: Annotated[int, Setting(Purpose.EXECUTION, bound=AT_LEAST_1)] = 4
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
    for part in (settings, settings.strategy):
        for problem in problems_of(part, partial(flag_of, type(part))):
            raise UsageError(problem)
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
