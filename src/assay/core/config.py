"""The settings of a run: one frozen record that flags fill and `run.json` stores."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct, field

from assay import setting
from assay.core.seams import JUDGE_RETRIES
from assay.core.types import Request, TaskDefinition


class RunConfig(Struct, frozen=True, kw_only=True):
    """Every setting of a run. `identity()` says which of them a result depends on.

    A new field is marked with what it applies to (`setting.py`), so that a run in which nothing applies it is refused.
    """

    model: Annotated[str, setting.EVERY_RUN] = "toy"
    model_options: Annotated[dict[str, Any], setting.EVALUATED_CALLS.as_flag("--model-arg")] = {}
    temperature: Annotated[float | None, setting.ANSWERS] = None
    top_p: Annotated[float | None, setting.ANSWERS] = None
    max_tokens: Annotated[int | None, setting.ANSWERS] = None
    stop: Annotated[tuple[str, ...] | None, setting.ANSWERS] = None
    seed: Annotated[int | None, setting.ANSWERS] = None
    logprobs: Annotated[int | None, setting.ANSWERS] = None
    reasoning_effort: Annotated[str | None, setting.ANSWERS] = None
    system: Annotated[str | None, setting.REQUESTS] = None
    prefill: Annotated[str | None, setting.REQUESTS] = None
    keep_thinking: Annotated[bool, setting.EVALUATED_CALLS] = False
    canary: Annotated[bool, setting.EVALUATED_CALLS] = False
    """For the evaluated model: the system message, the start of the answer, whether thinking is scored, and whether ten
    fixed prompts come first."""
    too_long: Annotated[Literal["fail", "cut-left"] | None, setting.RENDERED] = None
    """For prompts beyond the model's context; None: the task's own, which is `fail` except for tasks of lm_eval."""
    repeat: Annotated[int, setting.EVERY_RUN] = 1
    limit: Annotated[int | None, setting.EVERY_RUN] = None
    """Only the first N samples of each task."""
    only: Annotated[dict[str, tuple[str, ...]] | None, setting.EVERY_RUN] = None
    """The ids of the samples to run, by task; None: all of them."""
    task_config: Annotated[dict[str, Any], setting.TASK_FILES.as_flag("--config")] = field(default_factory=dict)
    """`--config` values for declarative tasks."""
    label: Annotated[str | None, setting.PLANNING] = None
    """What tables call the model, such as `new` of `--model new=openai:NAME`; no part of the run's identity."""
    prompt: Annotated[str | None, setting.PLANNING] = None
    """Which of a run file's prompts this run uses."""

    concurrency: Annotated[int, setting.EVERY_RUN] = 32
    adaptive: Annotated[bool, setting.EVERY_RUN] = False
    """Adapt the number of requests in flight to the server, instead of `concurrency`."""
    batch_size: Annotated[int, setting.BATCHES] = 16
    timeout_seconds: Annotated[float | None, setting.EVERY_RUN.as_flag("--timeout")] = None
    """Time limit for one answer; None: only the transport's own. Scoring an answer has the same limit; None: 600."""
    retries: Annotated[int, setting.CALLS] = 5
    judge_retries: Annotated[int, setting.JUDGES] = JUDGE_RETRIES
    patience_seconds: Annotated[float, setting.SERVERS.as_flag("--patience")] = 3600.0
    """How long to wait out a server outage before the run stops."""
    requests_per_minute: Annotated[float | None, setting.CALLS.as_flag("--rpm")] = None
    tokens_per_minute: Annotated[float | None, setting.CALLS.as_flag("--tpm")] = None
    score_workers: Annotated[int | None, setting.SCORER_PROCESSES] = 0
    """Processes for CPU-bound scorers; None: one per CPU, where it pays."""
    cache: Annotated[bool | None, setting.CALLS] = None
    """Whether answers to the same draws may come from earlier runs; None: only where the project says so."""
    cache_by_default: Annotated[bool, setting.LIMIT] = False
    """What the project says. A model that might have changed since is then left out; with `cache` it is refused."""
    cache_reads: Annotated[bool, setting.LIMIT] = True
    """False: answers are added to the cache, and none is taken from it."""
    cache_path: Annotated[str, setting.CACHE] = ".assay/cache.sqlite"
    level: Annotated[float, setting.EVERY_RUN] = 0.95
    """Confidence level of the intervals."""
    budget_cost: Annotated[float | None, setting.LIMIT] = None
    """Money the run may spend in total, over all sessions; then it stops and can be resumed."""
    budget_tokens: Annotated[int | None, setting.LIMIT] = None
    prices: Annotated[str | None, setting.CALLS] = None
    """Price file; None means `prices.yaml` in the working directory, then the prices that come with assay."""
    group_by: Annotated[str | None, setting.SAMPLE_KEYS] = None
    """Metadata key whose values cluster samples; None means `group`."""
    by: Annotated[tuple[str, ...], setting.SAMPLE_KEYS] = ()
    """Metadata keys to slice tables by."""
    include_per_example: Annotated[bool, setting.EVERY_RUN] = False
    allow_bad_tasks: Annotated[bool, setting.LIMIT] = False
    allow_broken_tests: Annotated[bool, setting.LIMIT] = False
    """Run tasks although some of their tests cannot judge any answer; those samples are failures."""
    min_sandbox: Annotated[str | None, setting.LIMIT] = None
    trust: Annotated[bool, setting.LIMIT] = False
    """Run Python snippets of task files outside the current project."""

    def settings(self) -> Request:
        """The generation settings, as a request."""
        names = [name for name, mark in setting.settings_of(RunConfig).items() if mark == setting.ANSWERS]
        return Request(**{name: getattr(self, name) for name in names})

    def samples_of(self, definition: TaskDefinition) -> int:
        """How many samples of a task the run includes."""
        size = definition.dataset.size if self.only is None else len(self.only.get(definition.name, ()))
        return size if self.limit is None else min(self.limit, size)

    def attempts_of(self, definition: TaskDefinition) -> int:
        return self.samples_of(definition) * self.repeat

    def identity(self) -> dict[str, Any]:
        """The settings a result depends on. Concurrency, retries, timeouts and the like are not among them."""
        settings: dict[str, Any] = msgspec.to_builtins(self.settings())
        names = ("prompt", "system", "prefill", "keep_thinking", "too_long", "only")
        others = {name: value for name in names if (value := getattr(self, name))}
        return {"generation": settings, "repeat": self.repeat, "limit": self.limit, **others}
