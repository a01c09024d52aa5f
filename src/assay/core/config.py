"""The settings of a run: one frozen record that flags fill and `run.json` stores."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from assay.core.seams import JUDGE_RETRIES
from assay.core.types import Request, TaskDefinition


class RunConfig(Struct, frozen=True, kw_only=True):
    """Every setting of a run. `identity()` says which of them a result depends on."""

    model: str = "toy"
    model_options: dict[str, Any] = field(default_factory=dict)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    logprobs: int | None = None
    reasoning_effort: str | None = None
    system: str | None = None
    prefill: str | None = None
    keep_thinking: bool = False
    canary: bool = False
    """For the evaluated model: the system message, the start of the answer, whether thinking is scored, and whether ten
    fixed prompts come first."""
    too_long: Literal["fail", "cut-left"] | None = None
    """For prompts beyond the model's context; None: the task's own, which is `fail` except for tasks of lm_eval."""
    repeat: int = 1
    limit: int | None = None
    """Only the first N samples of each task."""
    only: dict[str, tuple[str, ...]] | None = None
    """The ids of the samples to run, by task; None: all of them."""
    task_config: dict[str, Any] = field(default_factory=dict)
    """`--config` values for declarative tasks."""
    prompt: str | None = None
    """Which of a run file's prompts this run uses."""

    concurrency: int = 32
    adaptive: bool = False
    """Adapt the number of requests in flight to the server, instead of `concurrency`."""
    batch_size: int = 16
    timeout_seconds: float | None = None
    """Time limit for one answer; None: only the transport's own. Scoring an answer has the same limit; None: 600."""
    retries: int = 5
    judge_retries: int = JUDGE_RETRIES
    patience_seconds: float = 3600.0
    """How long to wait out a server outage before the run stops."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    score_workers: int | None = 0
    """Processes for CPU-bound scorers; None: one per CPU, where it pays."""
    cache: bool | None = None
    """Whether answers to the same draws may come from earlier runs; None: only where the project says so."""
    cache_by_default: bool = False
    """What the project says. A model that might have changed since is then left out; with `cache` it is refused."""
    cache_reads: bool = True
    """False: answers are added to the cache, and none is taken from it."""
    cache_path: str = ".assay/cache.sqlite"
    level: float = 0.95
    """Confidence level of the intervals."""
    budget_cost: float | None = None
    """Money the run may spend in total, over all sessions; then it stops and can be resumed."""
    budget_tokens: int | None = None
    prices: str | None = None
    """Price file; None means `prices.yaml` in the working directory, then the prices that come with assay."""
    group_by: str | None = None
    """Metadata key whose values cluster samples; None means `group`."""
    by: tuple[str, ...] = ()
    """Metadata keys to slice tables by."""
    include_per_example: bool = False
    allow_bad_tasks: bool = False
    allow_broken_tests: bool = False
    """Run tasks although some of their tests cannot judge any answer; those samples are failures."""
    min_sandbox: str | None = None
    trust: bool = False
    """Run Python snippets of task files outside the current project."""

    def settings(self) -> Request:
        """The generation settings, as a request."""
        names = ("temperature", "top_p", "max_tokens", "stop", "seed", "logprobs", "reasoning_effort")
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
