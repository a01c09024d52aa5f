"""The records: plain, frozen data that all parts exchange and all files contain.

Read downwards: a `Sample` is sent as a `Request`, a model answers with a `Completion`, a solver returns a `Trace`,
scorers return `Score`s, an error becomes a `Failure`, and the whole attempt becomes one `Record`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from assay.core.describe import About
from assay.storage.packed_text import PackedText
from assay.task_records import Provenance, TaskLabels, TaskPlan

Stage = Literal["dataset", "prompt", "model", "solver", "sandbox", "scorer", "metric", "action"]
"""Where in the life of a sample something broke."""

ScoreValue = int | float | bool | str | None
"""As the scorer gave it: integers stay integers, and a label of digits stays text."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a conversation, in the shape chat servers speak."""

    role: str
    content: Any = ""
    """Text, or a list of content parts."""
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class Sample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question with its targets and extras."""

    id: str
    prompt: str = ""
    """The finished text a single-turn solver sends; declarative tasks build theirs from `row` instead."""
    targets: tuple[str, ...] = ()
    extras: dict[str, Any] = field(default_factory=dict)
    """What a metric needs in addition to the targets."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What a reader may want to slice by."""
    scorer: str | None = None
    """Key of the one scorer that applies to this sample; None means every scorer of the task."""
    row: dict[str, Any] | None = None
    """The dataset row, for tasks whose templates read columns."""
    written: dict[str, Any] | None = None
    """What the file says where printing a value of the row would say something else: `2.50` for the number 2.5."""

    def slices(self) -> dict[str, Any]:
        """What a record keeps to slice by: the metadata, and under `sample` the short values of the row."""
        if not self.row:
            return self.metadata
        row = self.row.items()
        short = {name: value for name, value in row if isinstance(value, str | int | float) and len(str(value)) <= 60}
        return {**self.metadata, "sample": short} if short else self.metadata


class Draw(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer out of those that a model could give: two draws of a sampled request are two answers."""

    task: str = ""
    sample: str = ""
    repetition: int = 1
    n: int = 1
    """The n-th equal request to that model in the attempt."""


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a model: `messages` or `prompt`, and the generation settings."""

    prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    logprobs: int | None = None
    """How many alternatives per token to ask for; None asks for none."""
    reasoning_effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`: how much a reasoning model may think."""
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None
    """Parameters passed to the server unchanged."""
    continuation: str | None = None
    """When set, the model scores this text after the prompt instead of writing one."""
    rolling: tuple[int, int] | None = None
    """Score a long continuation in windows: their size and stride in tokens; 0 means the largest possible."""
    plain: bool = False
    """Every model that takes text gets the prompt unchanged, without its chat template."""
    too_long: Literal["fail", "cut-left"] | None = None
    """What becomes of a prompt beyond the model's context; None: it fails."""
    embed: bool = False
    """The model returns the embedding of the prompt instead of generating; see `embedding.py`."""
    attempt: int = 1
    """A solver's own number for a request that it sends several times. It need not: equal requests are counted."""
    draw: Draw | None = None
    """Which draw this is: filled in during an attempt."""
    fresh: bool = False
    """Call the model even if the cache has an answer, because the cached answer could not be used."""

    def text(self) -> str:
        """The request as one string, for models that take only text; of an image or a sound, only its type."""
        if self.prompt is not None:
            return self.prompt
        contents = [message.content for message in self.messages or ()]
        parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
        texts = (part.get("text", f"({part.get('type')})") if isinstance(part, dict) else part for part in parts)
        return "\n\n".join(map(str, texts))


class Completion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model's answer, and what it cost."""

    text: str
    finish_reason: str | None = None
    """`stop`, `length`, `tool_calls`, `content_filter`, …; None when the model does not report it."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    """The part of `tokens_out` spent on reasoning, where the model reports it."""
    seconds: float = 0.0
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    logprobs: list[dict[str, Any]] | None = None
    logprob: float | None = None
    """Log-likelihood of the continuation, for requests that have one."""
    is_greedy: bool | None = None
    """Whether each token of the continuation is the likeliest."""
    embedding: tuple[float, ...] | None = None
    """For requests that ask to `embed`."""
    cut: int = 0
    """Tokens that were cut from the beginning of the prompt."""
    sent: str | None = None
    """The prompt as it was really sent, where assay renders it; a record has it in `Trace.sent` instead."""
    cached: bool = False
    from_earlier_run: bool = False
    """Cached, and not by this run."""
    retries: int = 0
    raw: dict[str, Any] | None = None
    """Further fields of the server's answer, such as the references of a RAG service."""


class Trace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prediction, and the conversation that led to it."""

    prediction: str
    prompt: str | None = None
    messages: tuple[Message, ...] | None = None
    completions: tuple[Completion, ...] = ()
    items: list[dict[str, Any]] | None = None
    """Tool calls and their outputs among the messages, where a solver recorded them."""
    sent: tuple[PackedText | None, ...] | None = None
    """The text really sent for each completion, one for all where it is the same; see `packed_text.py`."""


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One scorer's result for one trace."""

    name: str
    """The scorer's key in its task."""
    values: dict[str, ScoreValue]
    """Value name -> value. The headline of a metric is called `score`."""
    answer: str | None = None
    """What was extracted from the prediction and compared; None when that is the prediction itself."""
    extracted: bool = True
    """False when no answer could be extracted from the prediction."""
    reason: str | None = None
    metadata: dict[str, Any] | None = None


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something broke. It is never a score."""

    stage: Stage
    kind: str
    """`timeout`, `rate_limit`, `refused`, `connection`, `server_error`, …: one word that a table can count."""
    message: str
    part: str = ""
    """The name of the model, solver, scorer or metric that broke."""
    scorer: str = ""
    """Key of the scorer that gave no score because of it; empty: no score of the attempt counts."""
    field: str = ""
    """The task field that caused it, where there is one: `scorers.judge.user_prompt`."""
    retryable: bool = False
    traceback: str = ""
    """Traceback of user code that raised: bounded, and without keys."""


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model used in an attempt, beyond the answers that the trace keeps."""

    model: str
    judge: bool = True
    """Another model than the evaluated one: a judge, a simulated user."""
    rejudged: bool = False
    """For verdicts that were asked for when recorded answers were scored again."""
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    from_server_cache: int = 0
    """The part of `tokens_in` that the server's own cache served."""
    cached: int = 0
    """Answers from assay's own cache, which were paid for before: their tokens do not count."""
    from_earlier_runs: int = 0
    """Those of them that other runs put there."""
    unknown: int = 0
    """Other answers for which the model reported no tokens."""
    guessed_in: int = 0
    """Their tokens, estimated."""
    guessed_out: int = 0


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt, finished: one line of the journal, readable without the task file."""

    key: str
    """Fingerprint of (task, sample, attempt): the identity that resume and merge go by."""
    task: str
    sample_id: str
    index: int
    """Position of the sample in its dataset; reports keep this order whatever order attempts finished in."""
    attempt: int = 1
    targets: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    trace: Trace | None = None
    last_request: str | None = None
    """The text of the last request, for an attempt that failed before it had a trace."""
    scores: tuple[Score, ...] = ()
    failures: tuple[Failure, ...] = ()
    excluded: tuple[str, ...] = ()
    """Keys of the action rules that exclude this sample from the aggregates."""
    seconds: float = 0.0
    finished: float | None = None
    """When the attempt ended, in Unix time; None in journals of older versions."""
    usage: tuple[Usage, ...] = ()
    """What judges and other models used, and the evaluated one where no trace shows it."""
    continued: bool = False
    """Whether it adds scores to the answer of an earlier line; what that line used counts with that line."""
    asked_again: dict[str, int] = field(default_factory=dict)
    """By scorer, how often its judge was called again because its verdict could not be used."""

    @property
    def failed(self) -> bool:
        return bool(self.failures)


class PartSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A solver, scorer, aggregate or action by catalog name, with its options: plain data."""

    key: str
    """Its name inside the task, unique among its kind."""
    use: str
    """Its catalog name, or `module:object`."""
    options: dict[str, Any] = field(default_factory=dict)
    about: About | None = None
    """What it says of itself: asked when the task is built, recorded with the run, and no part of its identity."""


class DatasetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where samples come from: a reader's catalog name and its options, plus what the content hashed to."""

    use: str
    options: dict[str, Any] = field(default_factory=dict)
    sha256: str = ""
    size: int = 0


class TaskDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A task as plain data: what every file format becomes, and what a worker rebuilds a `Task` from."""

    name: str
    format: str
    """What its reader calls what it was read from: shown where there is no file, and never compared."""
    dataset: DatasetSpec
    solver: PartSpec
    scorers: tuple[PartSpec, ...]
    aggregates: tuple[PartSpec, ...]
    """The first one is the task's score on the leaderboard."""
    metric: str
    """What the leaderboard calls the task's measure."""
    category: str | None = None
    actions: tuple[PartSpec, ...] = ()
    description: str = ""
    source: str = ""
    """The file it was read from, relative to where the command ran."""
    skipped_records: int = 0
    """Bad records that the run skipped because of `--allow-bad-tasks`."""
    plan: TaskPlan = TaskPlan()
    provenance: Provenance = Provenance()
    shown: TaskLabels = TaskLabels()
    modules: dict[str, str] = {}
    """The author's own modules that its Python imports: file -> source."""
    generation: tuple[Usage, ...] = ()
    """What models used to write its samples; later runs find the samples there, as answers in the cache."""


class Bounds(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a number would be if every failed attempt had been wrong, and if every one had been right."""

    low: float
    high: float
    low_interval: tuple[float, float] | None = None
    """The interval of each bound, where the number has one."""
    high_interval: tuple[float, float] | None = None
    wrong: float = 0.0
    """The score of a wrong attempt, and of a right one."""
    right: float = 1.0


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One leaderboard cell: a number, its interval, and the attempts it is over."""

    name: str
    value: float | None
    """None when nothing was scored; `reason` then says why."""
    low: float | None = None
    high: float | None = None
    scored: int = 0
    unscored: int = 0
    failed: int = 0
    timeouts: int = 0
    signature: str = ""
    """The definition of the number in one line: metric, post-processing, interval method, level, seed."""
    bounds: Bounds | None = None
    """Set where attempts failed and the number can only rise with their scores."""
    reason: str | None = None
    details: Mapping[str, Any] | None = None
