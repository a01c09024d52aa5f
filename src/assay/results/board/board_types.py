"""The leaderboard's shape, `leaderboard.v1`: one record per task and one around them, to and from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import Bounds, Summary
from assay.costs.spending import Cost, JudgeRow
from assay.overriding import override
from assay.results.board.stretches import Stretch
from assay.results.per_example import PerExample
from assay.run_file import ReusedTask, write_whole
from assay.stats.calibration import ReliabilityBin
from assay.task_records import Declared, MadeOf

_T = TypeVar("_T")
SCHEMA = "leaderboard.v1"
MAX_BOARD_BYTES = 1 << 30
"""The largest leaderboard file that is read: half a million examples, where it holds them."""


class ScoreInterval(Struct, frozen=True, kw_only=True):
    """The confidence interval of a number."""

    low: float
    high: float
    level: float
    method: str = ""


def interval_of(summary: Summary, level: float) -> ScoreInterval | None:
    """The interval of an aggregate; None where it has none."""
    if summary.low is None or summary.high is None:
        return None
    method = summary.signature.split("|")[1] if "|" in summary.signature else ""
    return ScoreInterval(low=summary.low, high=summary.high, level=level, method=method)


class Latency(Struct, frozen=True, kw_only=True):
    """Milliseconds an attempt took, scoring included."""

    mean: float
    p50: float
    p95: float


class SliceRow(Struct, frozen=True, kw_only=True):
    """A task's score where a metadata key has one value."""

    by: str
    value: str
    score: float | None
    interval: ScoreInterval | None
    scored: int
    failed: int
    rest: float | None = None
    """The score of all other samples of the task."""
    adjusted_p: float | None = None
    """Of the difference from the rest, corrected by Holm for the number of slices."""
    weak: bool = False
    """Significantly below the rest."""


class Calibration(Struct, frozen=True, kw_only=True):
    """Whether answers are right as often as their confidence says."""

    answers: int
    confidence: str
    """What was used as the confidence."""
    expected_error: Summary
    brier: Summary
    bins: list[ReliabilityBin]


class Likelihood(Struct, frozen=True, kw_only=True):
    """How well the model predicts the text it scored or wrote."""

    texts: int
    tokens: int | None
    bytes: int
    bits_per_byte: Summary
    perplexity: Summary | None
    """Per token, where tokens are known."""


class VariancePart(Struct, frozen=True, kw_only=True):
    """A part of the uncertainty of a task's mean."""

    part: str
    """`samples`: other samples are harder; `attempts`: another attempt at the same sample; `attempts and judge`: or
    another verdict on it."""
    variance: float
    """That a single score has from it."""
    share: float
    """Of the squared standard error."""
    requests: int
    """Further requests that halve this part: as many samples, or attempts at each, again."""
    cost: Cost | None = None
    """Of those; null where no price is known."""


class VarianceRow(Struct, frozen=True, kw_only=True):
    """Where the uncertainty of a task's mean comes from."""

    samples: int
    """With two scored attempts or more."""
    attempts: float
    """Per sample."""
    standard_error: float | None = None
    parts: list[VariancePart] = []
    attempts_share: tuple[float, float] | None = None
    """The interval of the share of the attempts in the variance of a single score."""
    reason: str | None = None
    """Why the parts are not known, where they are not."""


class ScorerRow(Struct, frozen=True, kw_only=True):
    """One scorer of a task, as its file describes it."""

    key: str
    type: str
    purpose: str = "score"
    """`score`, or `qa` for quality assurance only."""
    display_name: str | None = None


class TaskRow(Struct, frozen=True, kw_only=True):
    """One task's numbers and what produced them."""

    task: str
    metric: str
    """The file's word for it."""
    score: float | None
    """None when nothing was scored; `reason` says why."""
    correct: int | None
    """Attempts with full marks; None where the score is not a mean of marks."""
    total: int
    """Attempts that the run planned."""
    latency_ms: float
    scored: int
    """Attempts that the score is over."""
    failed: int
    """Attempts that lack a score, of any scorer, because something failed that is no timeout. What the task's score and
    every other aggregate lack is in `aggregates`."""
    timeouts: int
    excluded: int
    remaining: int
    """Attempts not yet run: the run was interrupted."""
    left_out: int = 0
    """Attempts at samples of the task that the run did not plan, by `--limit` or `--only`."""
    whole_bounds: tuple[float, float] | None = None
    """The ends of the score over all samples of the task, where some were left out; null where it could be anything."""
    complete: bool
    coverage: float
    """Scored attempts out of those that the run planned to score."""
    sha256: str
    """Of the task's content: the same questions and targets have the same one."""
    fingerprint: str
    """Of the whole task: content, prompt, scoring."""
    signature: str
    """The number in one line: how predictions are scored, how scores are aggregated, which interval is used."""
    metric_definition: str = ""
    """The metric as tables show it: which definition of the word it is, where formats differ."""
    scoring: str = ""
    """Of how an answer becomes the score; what judges get to read is `judging`."""
    unscored: int = 0
    """Attempts that did not fail but lack the value that the score uses."""
    has_score: bool = True
    """False for a task that only describes, as by the share of every label: it is excluded from the overall score."""
    lower_is_better: bool | None = False
    """For perplexity and the like, which are left out of the overall score; null where neither is better."""
    range: tuple[float, float] | None
    """The lowest and the highest score possible; null where the score is a number without a scale that is known."""
    compared_by: str | None = None
    """The number of an attempt that stands for the score in tests, where the score is no mean: bits per byte."""
    made_of: MadeOf | None = None
    """What the score is computed from, where that is known and it is no mean, as F1 is from sums: tests go by it."""
    untested: str | None = None
    """Why no difference of the score is tested, gated or ranked; null where they are."""
    largest_loss: float | None = None
    """The most that a sample's score can change from one result to another, where the task declares it."""
    asking: str = ""
    """Fingerprint of how the questions are put to the model: solver and templates."""
    judging: str = ""
    """Fingerprint of what the task's scorers ask which other models; empty where none asks one."""
    interval: ScoreInterval | None = None
    bounds: Bounds | None = None
    reason: str | None = None
    refused: str | None = None
    """Why no attempt of this task could be made here; such a task is excluded from the overall score."""
    truncated: int = 0
    """Attempts whose answer reached the most tokens that it may have."""
    prompts_cut: int = 0
    """Attempts whose prompt was cut from the left, because it was beyond the model's context."""
    nothing_extracted: int = 0
    skipped_records: int = 0
    """Bad records of the task file, skipped with `--allow-bad-tasks`."""
    cached: int = 0
    """Answers from assay's own cache, whose tokens are not counted."""
    from_earlier_runs: int = 0
    """Those of them that earlier runs put there; the others repeat an answer of this run to an equal request."""
    tokens_in: int = 0
    tokens_out: int = 0
    judge_tokens_in: int = 0
    """What judges were given, apart from the evaluated model."""
    judge_tokens_out: int = 0
    latency: Latency | None = None
    missing_scores: dict[str, int] = {}
    """Of a task with several scorers: by scorer, the attempts without its score because it failed. Its other scores
    count."""
    asked_again: dict[str, int] = {}
    """By scorer, how often its judge was called again because its verdict was unusable."""
    failures: dict[str, int] = {}
    failure_examples: dict[str, str] = {}
    outcomes: dict[str, int] = {}
    weak_passes: int | None = None
    """Attempts whose marks rest on what the model-written code itself reported; None when no outcome was graded."""
    category: str | None = None
    weight: float = 1.0
    """What the task counts in the overall score."""
    display_name: str | None = None
    declared: list[Declared] = []
    """Everything that its file declares, with what it became."""
    scorers: list[ScorerRow] = []
    aggregates: list[Summary] = []
    cost: Cost | None = None
    """Of the evaluated model."""
    judges: list[JudgeRow] = []
    judge_cost: Cost | None = None
    """Of all judges together; None when no judge was called."""
    tokens_unknown: int = 0
    """Answers whose tokens the model did not count."""
    slices: list[SliceRow] = []
    repetitions: list[Summary] = []
    """pass@k, pass^k, majority@k, best@k, worst@k, consistency: when every sample was attempted several times."""
    variance: VarianceRow | None = None
    """When every sample was attempted several times."""
    calibration: Calibration | None = None
    likelihood: Likelihood | None = None
    reused: ReusedTask | None = None
    """What `--changed` took from an earlier result; null where nothing was."""
    per_example: list[PerExample] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """A board that another program wrote has the word alone."""
        if not self.metric_definition:
            force_setattr(self, "metric_definition", self.metric)


def missing_words(row: TaskRow) -> str:
    """Which scores failed attempts lack, where a task has several scorers, to be added to how many failed."""
    scorers = [f"{count:,} without the score of `{scorer}`" for scorer, count in row.missing_scores.items()]
    return f": {', '.join(scorers)}" if scorers else ""


class GroupRow(Struct, frozen=True, kw_only=True):
    """The mean that a group of tasks reports of one of their numbers."""

    group: str
    metric: str
    score: float | None
    """None when one of its tasks has no such number; `reason` says why."""
    interval: ScoreInterval | None = None
    tasks: list[str] = []
    weight_by_size: bool = True
    """Whether a task counts by its samples; else all tasks count alike."""
    scored: int = 0
    reason: str | None = None


class Leaderboard(Struct, frozen=True, kw_only=True):
    """The scoreboard of one run."""

    schema: str
    timestamp: str
    overall_score: float | None
    adapter: str
    tasks: list[TaskRow]
    complete: bool
    failed: int
    timeouts: int
    fingerprint: str
    """Equal for runs that agree: same tasks, model and settings, same answers, same scores."""
    run_fingerprint: str
    model: dict[str, Any]
    settings: dict[str, Any]
    versions: dict[str, str]
    groups: list[GroupRow] = []
    """Means over the tasks of a group, where tasks come in groups."""
    overall_reason: str | None = None
    overall_interval: ScoreInterval | None = None
    overall_bounds: Bounds | None = None
    """The overall score at both ends of what the failed attempts could have scored, those of refused tasks included."""
    sandbox: dict[str, Any] | None = None
    level: float = 0.95
    cost: Cost | None = None
    """Of the evaluated model, the canary included."""
    canary_cost: Cost | None = None
    judge_cost: Cost | None = None
    """Of all judges together; None when no judge was called."""
    label: str | None = None
    """What the user calls the model; `adapter` is its name."""
    latency: Latency | None = None
    """Over the attempts of all tasks."""
    created: str = ""
    """When the run began."""
    command: list[str] = []
    stretches: list[Stretch] = []
    """What answered and what scored, for each start and resume."""
    answered: dict[str, dict[str, int]] = {}
    """How many answers name each `model`, where it is not the one asked for, and each `system_fingerprint`."""
    notices: list[str] = []
    """Notes on how this board was computed."""

    @property
    def model_label(self) -> str:
        """What tables call the model: its label, or else its name."""
        return self.label or self.adapter

    @override
    def __repr__(self) -> str:
        from assay.pages.documents.leaderboard import leaderboard_table
        from assay.pages.markdown import markdown

        return markdown(leaderboard_table(self))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from assay.pages.html.notebook import leaderboard_html

        return leaderboard_html(self)


def leaderboard_schema() -> dict[str, Any]:
    """The JSON Schema of a leaderboard file."""
    return msgspec.json.schema(Leaderboard)


def write_leaderboard_file(path: Path, leaderboard: Leaderboard) -> None:
    """Write it atomically, indented so that two of them can be diffed."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(leaderboard), indent=2) + b"\n")


def read_leaderboard_file(path: Path | str) -> Leaderboard:
    """A leaderboard from its file."""
    return _decoded(Path(path), Leaderboard)


class _Level(Struct, frozen=True):
    level: float = 0.95


def level_of_file(path: Path | str) -> float:
    """The confidence level of the intervals in a leaderboard file."""
    level = _decoded(Path(path), _Level).level
    if not 0.0 < level < 1.0:
        raise UsageError(f"{path}: `level` must be between 0 and 1, got {level}")
    return level


def _decoded(path: Path, kind: type[_T]) -> _T:
    try:
        read = msgspec.json.decode(read_regular(path, MAX_BOARD_BYTES), type=kind)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such leaderboard file or run folder") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if path.suffix in (".jsonl", ".yaml", ".yml", ".csv"):
            raise UsageError(f"{path}: is no result; name run folders or their leaderboard.json") from error
        raise UsageError(f"{path}: not a {SCHEMA} file: {error}") from error
    if isinstance(read, Leaderboard) and read.schema != SCHEMA:
        raise UsageError(
            f"{path}: not a {SCHEMA} file: its schema is `{read.schema}`; "
            "read it with the version of assay that made it"
        )
    return read
