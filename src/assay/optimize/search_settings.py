"""What a user can set for a search as a number, a word or a yes: each with its flag, on its field (`setting.py`).

`settings.py` adds the texts, the data and what is made of them. Light, as `--help` imports it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from assay.run_settings import SpendingSettings
from assay.setting import AT_LEAST_1, NUMBER, ZERO_OR_MORE, Bound, Flag, Purpose, Setting

HOLDOUT = 0.3
"""The part of the data that is held out for the verdict, by default."""
ROOM = 8000
"""Characters of each example's feedback."""
SCORE = "score"


class SearchOptions(SpendingSettings, frozen=True, kw_only=True):
    """How a search goes, whatever its texts and data."""

    # fmt: off
    background: Annotated[str, Setting(Purpose.PROPOSER), Flag("--background TEXT", "context for the proposer")] = ""
    feedback_characters: Annotated[int,
        Setting(Purpose.PROPOSER, bound=Bound("at least 200", lambda value: value >= 200)),
        Flag("--feedback-chars N", "approximate characters of each example shown to the proposer (default {default})")
    ] = ROOM
    remember: Annotated[int, Setting(Purpose.PROPOSER, bound=ZERO_OR_MORE),
        Flag("--remember N", "rejected proposals shown to the proposer (default {default})")] = 3

    split: Annotated[str | None, Setting(Purpose.DATA),
        Flag("--split SHARES", "split what is not held out: 60/40 for dataset and valset; 50/25/25 with a testset")
    ] = None
    holdout: Annotated[float | None, Setting(Purpose.DATA),
        Flag("--holdout SHARE", f"share of the data held out for the verdict, without a testset (default {HOLDOUT}; 0: "
             "none)")] = None
    """None takes 0.3, or what the folder had."""
    demonstrations: Annotated[int, Setting(Purpose.DATA, bound=ZERO_OR_MORE),
        Flag("--demonstrations N", "put N examples of the dataset into the text (at {demonstrations}), picked by the "
             "search")] = 0

    budget: Annotated[int, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--budget N", "approximate number of evaluator calls (default {default})", everyday=True)] = 100
    repeat: Annotated[int, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--repeat N", "make each evaluation N times and take the mean")] = 1
    max_proposals: Annotated[int | None, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--max-proposals N", "proposals, at most")] = None
    target_score: Annotated[float | None, Setting(Purpose.SEARCH, bound=NUMBER),
        Flag("--target-score X", "stop at this score (default: 1 if unit)")] = None
    max_stale_proposals: Annotated[int | None, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--max-stale-proposals N", "stop after N proposals without a better text")] = None
    max_repeats: Annotated[int, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--max-repeats N", "stop after N rounds of proposals in a row without a new text (default {default})")
    ] = 20
    """Then the proposer is only repeating itself. Some repeats are normal where there are few small changes to make, as
    in a regular expression, and they cost few evaluations."""
    minibatch: Annotated[int, Setting(Purpose.SEARCH, bound=AT_LEAST_1),
        Flag("--minibatch N", "examples per proposal (default {default})")] = 3
    random_seed: Annotated[int, Setting(Purpose.SEARCH),
        Flag("--random-seed N", "same seed, same search (default {default})")] = 0
    # fmt: on


class SearchStrategy(Struct, frozen=True, kw_only=True):
    """The engine's own options, by its own names; the first of several is the default."""

    # fmt: off
    selector: Annotated[Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"], Setting(Purpose.ENGINE),
        Flag("--selector NAME", "which text is rewritten next: {choices}")] = "pareto"
    frontier: Annotated[Literal["instance", "objective", "hybrid", "cartesian"], Setting(Purpose.ENGINE),
        Flag("--frontier NAME", "what a text must be best at to be rewritten: {choices}")] = "instance"
    acceptance: Annotated[Literal["strict_improvement", "improvement_or_equal"], Setting(Purpose.ENGINE),
        Flag("--acceptance NAME", "what is accepted on a minibatch: {choices}")] = "strict_improvement"
    components: Annotated[Literal["round_robin", "all"], Setting(Purpose.ENGINE),
        Flag("--component-selector NAME", "which components are rewritten at a time: {choices}")] = "round_robin"
    sampling: Annotated[Literal["independent", "same_parent"], Setting(Purpose.ENGINE),
        Flag("--sampling NAME", "whether several proposals rewrite several texts, or one: {choices}")] = "independent"
    proposals: Annotated[int, Setting(Purpose.ENGINE, bound=AT_LEAST_1),
        Flag("--proposals N", "proposals at once (default {default})")] = 1
    merges: Annotated[int, Setting(Purpose.ENGINE, bound=ZERO_OR_MORE),
        Flag("--merge N", "combine components of two texts, at most N times")] = 0
    objectives: Annotated[tuple[str, ...], Setting(Purpose.ENGINE),
        Flag("--objectives NAMES", "objectives of the resulting front and of --frontier: score, sub-scores, length, "
             "seconds, tokens, cost; separated by commas (default: score and all sub-scores)", separator=",")] = ()
    chosen_by: Annotated[str, Setting(Purpose.ENGINE),
        Flag("--choose-by NAME", "the objective that decides which is best")] = SCORE
