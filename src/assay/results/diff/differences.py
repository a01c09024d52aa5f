"""The shape of a comparison: what `assay diff --json` writes."""

from __future__ import annotations

from msgspec import Struct

from assay.overriding import override
from assay.stats.answers_of_tasks import AnswersOfTasks
from assay.stats.drops import DropTest
from assay.stats.families import Correction
from assay.stats.intervals import Interval
from assay.stats.margins import Sameness
from assay.stats.paired import PairedComparison
from assay.stats.paired_evidence import Basis, GuardedPairs, OpenPairs


class OverallDiff(Struct, frozen=True, kw_only=True):
    """The mean over tasks of their mean differences, each with the weight of its task."""

    difference: float
    interval: Interval
    """Excludes 0 if and only if the corrected test finds a difference."""
    margin_interval: Interval
    """At the level of the report, with the ends that a claim about a margin may rest on."""
    p_value: float
    p_drop: float
    """One-sided: the chance of so large a drop, or a larger one, if nothing had changed."""
    test: str
    """`combined-t` of right/wrong answers, else `guarded-t` or `skewed-t`."""
    evidence: AnswersOfTasks | GuardedPairs | OpenPairs
    """What the test and the interval are made from."""
    adjusted_p: float | None = None
    significant: bool = False
    minimum_detectable_effect: float | None = None
    """At the corrected level; None when no difference, however large, would be found."""
    needed: int | None = None
    """About how many samples, or groups, would find a difference as large as the one seen; None when unknown."""
    least_p_drop: float | None = None
    """The smallest one-sided p-value that a drop could have: everything lost. None where there is nothing to lose."""
    drop: DropTest | None = None
    """Whether B is worse, tested on that side alone."""
    same: Sameness | None = None
    """Whether A and B are the same within the margin asked about; None where none was."""
    scale: bool = False
    """Whether all scores lie in [0, 1]."""
    power: float = 0.8
    basis: Basis | None = None
    """What the answer rests on; None before the comparisons of the report are corrected together."""


class Flip(Struct, frozen=True, kw_only=True):
    """One attempt that came out differently, both answers side by side."""

    id: str
    attempt: int
    score_a: float | None
    score_b: float | None
    prediction_a: str | None
    prediction_b: str | None
    targets: tuple[str, ...]
    prompt_a: str | None
    prompt_b: str | None
    same_prompt: bool
    same_targets: bool
    better: bool
    """Whether B is the better one."""
    answer_a: str | None = None
    """What was extracted from the prediction and scored; None where all of it was scored, or the attempt failed."""
    answer_b: str | None = None


class Changes(Struct, frozen=True, kw_only=True):
    """Pairs of attempts, counted by what differs between them."""

    same: int
    """Same question, targets, answer and score."""
    answer: int
    """The same question was answered differently."""
    prompt: int
    """The question itself changed, whatever the answer."""
    targets: int
    """The question is the same but the targets are not."""
    score_only: int
    """Same question, targets and answer, but another score: the scoring changed, or is not repeatable."""


class SliceDiff(Struct, frozen=True, kw_only=True):
    """The comparison within one slice."""

    by: str
    value: str
    comparison: PairedComparison
    adjusted_p: float | None
    significant: bool


class AggregateDiff(Struct, frozen=True, kw_only=True):
    """A number of the task, other than its score, that changed."""

    name: str
    value_a: float | None
    value_b: float | None


class TaskDiff(Struct, frozen=True, kw_only=True):
    """One task in both results, or in one of them."""

    task: str
    metric: str
    """What its score is, with the definition of a word that formats share; both, where they differ."""
    score_a: float | None
    score_b: float | None
    change: float | None
    """The task scores, b − a; None when one of them is missing, or they are of different numbers. Where the two do not
    cover the same samples, the scores are over the samples that compare."""
    declared: list[str] = []
    """What became something else of what their files declare, one sentence each."""
    content: str
    """`same`, `changed`, `only in A` or `only in B`: the questions and targets of the file."""
    asking: str
    """`same` or `changed`: how the questions are put to the model."""
    scoring: str
    """`same` or `changed`: how predictions are scored."""
    judging: str = "same"
    """`same` or `changed`: what the task's scorers ask which other models."""
    other_parts: str = "same"
    """`same` or `changed`: scorers, aggregates and rules of the task that its score does not depend on."""
    other_numbers: list[AggregateDiff] = []
    """The task's other aggregates that differ."""
    lower_is_better: bool = False
    """Then the sign of differences is flipped, so that a positive one is still better."""
    share_of_faults: bool = False
    """Lower is better, and it is a share, such as of hallucinations: the share without the fault is compared."""
    is_share: bool = False
    """Whether the score is one from 0 to 1."""
    largest_loss: float | None = None
    """The most that a sample's score can change, as the task declares it in both."""
    untested: str | None = None
    """Why the difference is not tested; null where it is."""
    unchanged: bool = False
    """Whether one side took the task whole from the other, or both from one result (`assay run --changed`): it differs
    by nothing by construction, and is not tested."""
    in_overall: bool = True
    """Whether the task counts in the overall score and its difference."""
    compared: int
    """Attempts that are scored in both results, with the same targets."""
    only_a: int
    """Attempts that are scored in A but failed or missing in B."""
    only_b: int
    other_targets: int = 0
    """Attempts that are scored in both with different targets, and so cannot be compared."""
    key_unknown: bool = False
    """The content changed, and the attempts do not show whether the targets did."""
    coverage_a: float | None
    coverage_b: float | None
    weak_a: int | None = None
    """Weak passes; None when nothing was graded."""
    weak_b: int | None = None
    comparison: PairedComparison | None = None
    """None when the attempts are not known one by one."""
    adjusted_p: float | None = None
    """Corrected for the number of comparisons."""
    significant: bool = False
    drop: DropTest | None = None
    """Whether B is worse, tested on that side alone and corrected by Holm; None where nothing was compared."""
    same: Sameness | None = None
    """Whether A and B are the same within the margin asked about; None where none was, or nothing was compared."""
    changes: Changes | None = None
    flips: int = 0
    """Attempts whose score changed."""
    shown: list[Flip] = []
    slices: list[SliceDiff] = []
    verdict: str = ""


class BoardDiff(Struct, frozen=True, kw_only=True):
    """Two results side by side."""

    a: str
    b: str
    model_a: str
    model_b: str
    label_a: str
    """What tables call the model of A."""
    label_b: str
    level: float
    overall_a: float | None
    overall_b: float | None
    overall_change: float | None
    same_result: bool
    """Both carry the same fingerprint: same questions, settings, answers and scores."""
    cached_a: int = 0
    """Answers of A that came from an earlier run, through the cache."""
    cached_b: int = 0
    shared_answers: int = 0
    """Attempts whose answers are equal because one side's came from the cache: one measurement, not two."""
    settings_changed: list[str]
    same_model: bool | None = None
    """Whether both were answered by the same weights; None where no strong identity is known of both."""
    canary: str = ""
    """How many answers to the canary agree, where both asked it."""
    tasks: list[TaskDiff]
    per_example: bool
    """Whether both carry per-example records; without them only scores can be compared."""
    unequal: list[str]
    """Sentences on samples that do not compare: scored in one of the two only, or with different targets."""
    notices: list[str] = []
    overall: OverallDiff | None = None
    comparisons: int = 0
    """How many comparisons the p-values are corrected for."""
    correction: Correction = "holm"
    """By Holm, Benjamini–Hochberg or Benjamini–Yekutieli. Gates and claims of sameness are always corrected by Holm."""
    verdict: str = ""

    @override
    def __repr__(self) -> str:
        from assay.pages.documents.diff import diff_document
        from assay.pages.markdown import markdown

        return markdown(diff_document(self)) + "\n"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from assay.pages.html.notebook import diff_html

        return diff_html(self)


class DiffEnds(Struct, frozen=True, kw_only=True):
    """Two results at both extremes of what their failed attempts could have scored; the same when none failed."""

    worst: BoardDiff
    """Every failed attempt of A right, and every one of B wrong."""
    best: BoardDiff
    """The other way round."""
    failed_baseline: int
    """Failed attempts of A."""
    failed: int
    """Failed attempts of B."""
    unbounded: list[str]
    """Tasks with failed attempts that could have scored anything: excluded from both."""
