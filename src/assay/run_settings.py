"""What a user can set for a run: each setting with all that is known of it, on its field (`setting.py`).

`run_config.py` adds what planning finds out. Everything here is light: `--help` imports it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Struct

from assay.setting import ABOVE_0, AT_LEAST_1, LEVEL, NOT_EMPTY, SHARE, ZERO_OR_MORE, AppliesTo, Flag, Purpose, Setting


class SpendingSettings(Struct, frozen=True, kw_only=True):
    """What a run or a search may spend; it stops cleanly there and can be resumed with more."""

    # fmt: off
    budget_cost: Annotated[float | None, Setting(Purpose.SPENDING, AppliesTo.LIMIT, ABOVE_0),
        Flag("--budget-cost MONEY", "stop cleanly when this much is spent", everyday=True)] = None
    budget_tokens: Annotated[int | None, Setting(Purpose.SPENDING, AppliesTo.LIMIT, AT_LEAST_1),
        Flag("--budget-tokens N", "stop cleanly when this many tokens are used")] = None
    # fmt: on


class RunSettings(SpendingSettings, frozen=True, kw_only=True):
    """The settings of a run, by what they are for; a flag that is not given leaves the field as it is here."""

    # fmt: off
    budget_minutes: Annotated[float | None, Setting(Purpose.SPENDING, AppliesTo.LIMIT, ABOVE_0),
        Flag("--budget-minutes M", "start no further attempts after so many minutes of this session")] = None
    model_options: Annotated[dict[str, Any], Setting(Purpose.CHOICE, AppliesTo.EVALUATED_CALLS),
        Flag("--model-arg KEY=VALUE", "an option of every evaluated model (repeatable)", everyday=True)] = {}
    task_config: Annotated[dict[str, Any], Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--config KEY=VALUE", "a parameter of YAML or inspect: tasks; TASK:KEY=VALUE for one of several tasks, "
             "KEY=@FILE for the text of a file", everyday=True)] = {}

    temperature: Annotated[float | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS, ZERO_OR_MORE),
        Flag("--temperature T", "sampling temperature (default: the model's own)", everyday=True)] = None
    top_p: Annotated[float | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS, SHARE),
        Flag("--top-p P", "nucleus sampling (default: the model's own)")] = None
    max_tokens: Annotated[int | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS, AT_LEAST_1),
        Flag("--max-tokens N", "longest answer, in tokens", everyday=True)] = None
    stop: Annotated[tuple[str, ...] | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS, NOT_EMPTY),
        Flag("--stop TEXT", "end the answer at this text (repeatable)")] = None
    logprobs: Annotated[int | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS, ZERO_OR_MORE),
        Flag("--logprobs N", "request log-probabilities, with N alternatives per token")] = None
    seed: Annotated[int | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS),
        Flag("--seed N", "passed to the model")] = None
    system: Annotated[str | None, Setting(Purpose.RESULT, AppliesTo.REQUESTS, NOT_EMPTY),
        Flag("--system TEXT|FILE", "system message: a text, or a file that contains it")] = None
    prefill: Annotated[str | None, Setting(Purpose.RESULT, AppliesTo.REQUESTS, NOT_EMPTY),
        Flag("--prefill TEXT", "start of each answer, sent as an assistant message, for servers that continue it")
    ] = None
    reasoning_effort: Annotated[str | None, Setting(Purpose.RESULT, AppliesTo.ANSWERS),
        Flag("--reasoning-effort", "reasoning effort, translated into what the model's API accepts",
             choices=("none", "minimal", "low", "medium", "high"))] = None
    keep_thinking: Annotated[bool, Setting(Purpose.RESULT, AppliesTo.EVALUATED_CALLS),
        Flag("--keep-thinking", "score `<think>…</think>` with the answer (default: kept separately as reasoning)")
    ] = False
    too_long: Annotated[Literal["fail", "cut-left"] | None, Setting(Purpose.RESULT, AppliesTo.RENDERED),
        Flag("--too-long", "prompts beyond the context of a local model: a failure, or cut from the left (default: "
             "cut-left for lm-eval: tasks, fail for others)")] = None
    repeat: Annotated[int, Setting(Purpose.RESULT, AppliesTo.REPEATS, bound=AT_LEAST_1),
        Flag("--repeat N", "attempts per sample (default {default})", everyday=True)] = 1
    sandbox: Annotated[str | None, Setting(Purpose.RESULT, AppliesTo.PROGRAMS),
        Flag("--sandbox NAME", "what judges model-written code: local (the default, assay's own), an installed "
             "sandbox, or your own `module:name`", none_word="local")] = None
    limit: Annotated[int | None, Setting(Purpose.RESULT, bound=AT_LEAST_1),
        Flag("--limit N", "only the first N samples of each task", everyday=True)] = None
    only: Annotated[dict[str, tuple[str, ...]] | None, Setting(Purpose.RESULT)] = None
    """The ids of the samples to run, by task; None: all of them. `--only` finds them by pattern."""

    concurrency: Annotated[int, Setting(Purpose.EXECUTION, bound=AT_LEAST_1),
        Flag("--concurrency N", "attempts in flight (default: {default}; for servers, adapted to what they can take)",
             everyday=True)] = 32
    adaptive: Annotated[bool, Setting(Purpose.EXECUTION)] = False
    """Adapt the number of requests in flight to the server, instead of `concurrency`."""
    batch_size: Annotated[int, Setting(Purpose.EXECUTION, AppliesTo.BATCHES, AT_LEAST_1),
        Flag("--batch-size N", "prompts per batch, for models that take batches (default {default})")] = 16
    timeout_seconds: Annotated[float | None, Setting(Purpose.EXECUTION, bound=ABOVE_0),
        Flag("--timeout SECONDS", "time limit for one answer, and for scoring it (default: the model's own, and 600 "
             "for scoring)")] = None
    retries: Annotated[int, Setting(Purpose.EXECUTION, AppliesTo.CALLS, ZERO_OR_MORE),
        Flag("--retries N", "retries of transient failures (default {default})")] = 5
    judge_retries: Annotated[int, Setting(Purpose.EXECUTION, AppliesTo.JUDGES, ZERO_OR_MORE),
        Flag("--judge-retries N", "how often a judge is called again when its verdict is unusable (default {default})")
    ] = 2
    patience_seconds: Annotated[float, Setting(Purpose.EXECUTION, AppliesTo.SERVERS, ZERO_OR_MORE),
        Flag("--patience MINUTES", "how long to wait out an outage of a server before stopping (default {default}; "
             "rerun to resume)", unit=60)] = 3600.0
    score_workers: Annotated[int | None, Setting(Purpose.EXECUTION, AppliesTo.SCORER_PROCESSES, ZERO_OR_MORE),
        Flag("--score-workers N", "processes for CPU-bound scorers: auto (where it pays), a number, 0: only own code",
             none_word="auto")] = 0
    requests_per_minute: Annotated[float | None, Setting(Purpose.EXECUTION, AppliesTo.CALLS, ABOVE_0),
        Flag("--rpm N", "requests per minute, at most")] = None
    tokens_per_minute: Annotated[float | None, Setting(Purpose.EXECUTION, AppliesTo.CALLS, ABOVE_0),
        Flag("--tpm N", "tokens per minute, at most")] = None
    cache: Annotated[bool | None, Setting(Purpose.EXECUTION, AppliesTo.CACHE),
        Flag("--cache", "reuse answers of earlier runs (off by default)",
             opposite=("--no-cache", "do not, whatever the project says"))] = None
    cache_by_default: Annotated[bool, Setting(Purpose.EXECUTION, AppliesTo.LIMIT)] = False
    """What the project says. A model that might have changed since is then left out; with `cache` it is refused."""
    cache_reads: Annotated[bool, Setting(Purpose.EXECUTION, AppliesTo.LIMIT)] = True
    """False: answers are added to the cache, and none is taken from it."""
    cache_path: Annotated[str, Setting(Purpose.EXECUTION, AppliesTo.CACHE)] = ".assay/cache.sqlite"
    canary: Annotated[bool, Setting(Purpose.EXECUTION, AppliesTo.EVALUATED_CALLS),
        Flag("--canary", "first ask ten fixed prompts, whose answers `diff` compares: does the same model answer?")
    ] = False

    level: Annotated[float, Setting(Purpose.SHOWN, bound=LEVEL),
        Flag("--level L", "confidence level of the intervals (default {default})")] = 0.95
    by: Annotated[tuple[str, ...], Setting(Purpose.SHOWN, AppliesTo.SAMPLE_KEYS),
        Flag("--by KEY", "slice by metadata.KEY, or by sample.COLUMN of a YAML task's dataset (repeatable)")] = ()
    group_by: Annotated[str | None, Setting(Purpose.SHOWN, AppliesTo.SAMPLE_KEYS),
        Flag("--group-by KEY", "samples with the same metadata.KEY or sample.COLUMN are one cluster (default: "
             "metadata.group)")] = None
    prices: Annotated[str | None, Setting(Purpose.SHOWN, AppliesTo.CALLS),
        Flag("--prices FILE", "price file (default: prices.yaml here, that of the run, assay's own)")] = None
    tag: Annotated[str | None, Setting(Purpose.SHOWN, bound=NOT_EMPTY),
        Flag("--tag NAME", "a name that runs have in common, for `assay history --line-per tag`")] = None
    include_per_example: Annotated[bool, Setting(Purpose.SHOWN),
        Flag("--include-per-example", "add predictions and scores to the leaderboard")] = False

    allow_bad_tasks: Annotated[bool, Setting(Purpose.PERMISSION, AppliesTo.LIMIT),
        Flag("--allow-bad-tasks", "skip bad records, and broken files of a folder, and report them")] = False
    allow_broken_tests: Annotated[bool, Setting(Purpose.PERMISSION, AppliesTo.PROGRAMS),
        Flag("--allow-broken-tests", "samples whose tests cannot run or prove nothing are failures, not a refusal")
    ] = False
    min_sandbox: Annotated[str | None, Setting(Purpose.PERMISSION, AppliesTo.PROGRAMS),
        Flag("--min-sandbox TIER", "weakest sandbox that may run model-written code: A (strongest) to U (see "
             "docs/sandbox.md; default B)")] = None
    trust: Annotated[bool, Setting(Purpose.PERMISSION, AppliesTo.LIMIT),
        Flag("--trust", "allow what files outside this project name: Python, programs, addresses, variables (see "
             "`assay trust`)")] = False
