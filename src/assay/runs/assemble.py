"""Where a run is put together, the only place: task definitions and a config in, everything a run needs out.

`assemble` is for commands that call a model (run, shard, cluster, dry run; a search keeps `Parts` until it ends),
`assemble_tasks` for those that only score (rescore, check). What they opened they close again, whatever fails. Building
writes and starts nothing, so bad input leaves no trace; `make_ready` starts what has to be ready before the first
request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from assay.checking.missing_columns import refuse_missing_columns
from assay.checking.rehearse_tests import refusal, rehearse_tests
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import fingerprint
from assay.core.run import Stop
from assay.core.seams import BuildContext, Model, close_part, identity_of, offers_of
from assay.core.task import Task, task_fingerprint
from assay.core.types import Completion, Failure, TaskDefinition, Usage
from assay.costs.budget import Budget, SpendingLimits, prices_for, unbilled
from assay.costs.part_spending import PartSpending
from assay.costs.prices import Quotes, cost_of_answers
from assay.formats.likelihood_words import offer
from assay.models.adapters.python_callable import as_model
from assay.models.likelihood.check import likelihood_problem
from assay.models.model_names import make_model
from assay.models.pool import ModelPool, attempts_in_flight
from assay.overriding import override
from assay.results.measure import runs_code
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile, read_run_file, sealed_as
from assay.runs.folder import versions
from assay.runs.git_commit import commit_here
from assay.runs.progress import Progress
from assay.scorers.supervisor import Supervisor
from assay.tasks.built_tasks import Unavailable, build_task, has_own_parts, located_in, start_scorers
from assay.trust.consent import require_trust


@asynccontextmanager
async def assemble(
    definitions: Sequence[TaskDefinition],
    config: RunConfig,
    *,
    model: Model | object | None = None,
    models: ModelPool | None = None,
    command: Sequence[str] = (),
) -> AsyncIterator[Parts]:
    """Everything a run needs. `model`, an object of the user's, takes the place of the one that the config names."""
    parts = Parts(config, models)
    try:
        parts.build(definitions, model, command)
        yield parts
    finally:
        await parts.aclose()


@asynccontextmanager
async def assemble_tasks(
    definitions: Sequence[TaskDefinition], config: RunConfig, *, model_for: Callable[..., Model] | None = None
) -> AsyncIterator[BuiltTasks]:
    """The tasks alone, to score answers that are there already.

    A scorer that needs a model gets one from `model_for`, or reports that it has none.
    """
    parts = BuiltTasks(config, model_for)
    try:
        parts.build_tasks(definitions)
        yield parts
    finally:
        await parts.aclose()


@asynccontextmanager
async def assemble_judges(definitions: Sequence[TaskDefinition], config: RunConfig) -> AsyncIterator[JudgedTasks]:
    """The tasks and the models that their scorers call, to score answers that are there already."""
    parts = JudgedTasks(config)
    try:
        parts.build_tasks(definitions)
        await parts.models.check_cached()
        yield parts
    finally:
        await parts.aclose()


class BuiltTasks:
    """Built tasks, and the way to close all that belongs to them."""

    def __init__(self, config: RunConfig, model_for: Callable[..., Model] | None = None) -> None:
        self.config = config
        self.tasks: list[Task] = []
        self.sandbox: dict[str, Any] | None = None
        """What confines model-written code here, once it has been started."""
        self.closing = AsyncExitStack()
        self.supervisor = Supervisor(config.timeout_seconds, config.score_workers)
        self.closing.push_async_callback(self.supervisor.aclose)
        self._context = BuildContext(
            model_for=model_for,
            min_sandbox=config.min_sandbox,
            sandbox=config.sandbox,
            timeout_seconds=config.timeout_seconds,
            judge_retries=config.judge_retries,
            cost_of=self.cost_of,
        )
        self._loading: list[tuple[TaskDefinition, Callable[[], Awaitable[None]]]] = []
        """What loads a task's own code."""

    def cost_of(self, completions: Sequence[Completion]) -> float | None:
        """Where no model is measured, nothing is known of prices; what was not paid for costs nothing."""
        paid = any(completion.tokens_in or completion.tokens_out for completion in completions)
        return None if paid else 0.0

    @property
    def own_parts(self) -> bool:
        """Whether third-party code has a share in the records."""
        return any(has_own_parts(task.definition) for task in self.tasks)

    def build_tasks(self, definitions: Sequence[TaskDefinition]) -> None:
        require_trust(definitions, trust=self.config.trust)
        for definition in definitions:
            self.tasks.append(self.build_task(definition))

    def build_task(self, definition: TaskDefinition) -> Task:
        """One task, whose scorers may score in processes of their own; closed with all the others."""
        config = self.config
        others = len(self._context.loading)
        task = build_task(
            definition, context=self._context, config=config, supervisor=self.supervisor, trust=config.trust
        )
        self._loading += [(definition, load) for load in self._context.loading[others:]]
        for part in (task.solver, *task.scorers.values()):
            self.closing.push_async_callback(close_part, part)
        return task

    def start_sandboxes(self, progress: Progress) -> None:
        """Start what confines model-written code, before any model call; warn first of a tier below the full one.

        A scorer whose sandbox this host cannot provide gives no scores; a task without another one is refused.
        """
        for number, task in enumerate(self.tasks):
            self.tasks[number], reports = start_scorers(task)
            for key, scorer in self.tasks[number].scorers.items():
                if isinstance(scorer, Unavailable) and scorer is not task.scorers[key]:
                    what = "is refused" if len(task.scorers) == 1 else f"has no scores of `{key}` here"
                    progress.say(f"task `{task.name}` {what}: {scorer.failure.message}")
            for report in reports:
                if self.sandbox is None and (warning := report.warning()) is not None:
                    progress.say(warning)
                self.sandbox = msgspec.to_builtins(report)

    async def try_tests(self, progress: Progress) -> None:
        """Refuse tests that cannot run or prove nothing; where the config allows them, their samples are failures."""
        for number, task in enumerate(self.tasks):
            bad = await rehearse_tests(task, self.config, progress.say)
            refused = [item for item in bad if item.found.refused]
            if refused and not self.config.allow_broken_tests:
                raise UsageError(refusal(task, refused))
            if refused:
                alone = {item.sample: item.failure() for item in refused if item.alone}
                self.tasks[number] = replace(task, without_score=alone)

    def refuse_missing_columns(self) -> None:
        refuse_missing_columns(self.tasks, self._context.templates)

    async def load_code(self) -> None:
        """Refuse the tasks' own Python if it cannot be loaded or called, and evaluators that are not there: else every
        answer is paid for first."""
        for definition, load in self._loading:
            try:
                with located_in(definition):
                    await load()
            except FailureError as error:
                raise _not_loaded(definition, error.failure) from error

    async def try_metrics(self) -> None:
        """Refuse Python metrics that break whatever the scores will be."""
        definitions = [task.definition for task in self.tasks]
        if any(runs_code(part) for definition in definitions for part in definition.aggregates):
            from assay.runs.metric_trial import try_metrics  # most runs have none

            await try_metrics(definitions, self.config)

    async def aclose(self) -> None:
        """Close everything, also when closing some of it fails; models last."""
        await self.closing.aclose()


def _not_loaded(definition: TaskDefinition, failure: Failure) -> UsageError:
    """Where the code that cannot be loaded or called stands, and why."""
    from assay.formats.declarative.places import located_code  # reads the file again: only for error messages

    scorers = [part for part in definition.scorers if part.key == failure.part]
    for part in [definition.solver] if failure.stage == "solver" else scorers:
        for option, code in part.options.items():
            if option.endswith("_snippet"):
                error = located_code(definition, part.use, option, str(code), failure.message)
                if error is not None:
                    return error
    return UsageError(f"task `{definition.name}`: {failure.stage} `{failure.part}`: {failure.message}")


class JudgedTasks(BuiltTasks):
    """Built tasks, and the models that their scorers call."""

    def __init__(self, config: RunConfig, models: ModelPool | None = None) -> None:
        self.models = models or ModelPool(config)
        super().__init__(config, self.models.model_for)
        self.closing.push_async_callback(self.models.aclose)

    @property
    def in_flight_judging(self) -> int:
        """How many answers to keep in flight where only judges are called."""
        return max((attempts_in_flight(self.config, judge) for judge in self.models.judges), default=1)


class Parts(JudgedTasks):
    """Everything a run needs, built: what it is, its tasks, its models, and the one that is measured."""

    run_file: RunFile
    measured: Model
    """The evaluated model by itself."""
    model: Model
    """The measured one, with everything around it that the config asks for."""
    in_flight: int
    """How many attempts to keep going."""
    quotes: Quotes
    """The price of the evaluated model and of every judge, where it is known."""
    flags: Mapping[str, str] = MappingProxyType({})
    """What messages call settings, where the command does not call them as `run` does."""
    used_elsewhere: Collection[str] = ()
    """Settings that the command needs for something else too."""
    unproven: tuple[TaskDefinition, ...] = ()
    """Tasks that need likelihoods from a server that has not been checked yet."""

    def __init__(self, config: RunConfig, models: ModelPool | None = None) -> None:
        super().__init__(config, models)
        self.notes: list[str] = []
        """What is not done as a project or a file has it, for the record of the run."""
        self.parts: list[PartSpending] = []
        """The suites inside the run that have a budget of their own."""
        self._unwrapped: Model | None = None
        self.closing.push_async_callback(lambda: close_part(self._unwrapped))

    def build(
        self, definitions: Sequence[TaskDefinition], model: Model | object | None = None, command: Sequence[str] = ()
    ) -> None:
        config = self.config
        measured = make_model(config.model, config.model_options) if model is None else as_model(model)
        self._unwrapped = self.measured = measured
        self.build_tasks(definitions)
        refuse_unscorable(self.tasks, measured)
        refuse_other_prompts(self.tasks, measured)
        described = [task.definition for task in self.tasks]
        self.run_file = msgspec.structs.replace(
            describe(described, identity_of(measured), config, command),
            unbilled=unbilled([measured, *self.models.judges]),
        )
        self.quotes = prices_for(
            [measured.name, *(judge.name for judge in self.models.judges)], SpendingLimits.of(config)
        )
        for part in config.parts:
            own = SpendingLimits(budget_cost=part.cost, budget_tokens=part.tokens, prices=config.prices)
            prices_for(self.quotes, own, f"the budget of @{part.suite}")
        if self.quotes.get(measured.name) is None:
            refuse_unpriced(self.tasks, measured)
        self.unproven = likelihood_tasks(self.tasks) if offers_of(measured).likelihoods == "unproven" else ()
        self.in_flight = attempts_in_flight(config, measured)
        # last, because it may open the cache; the pool closes what it has wrapped
        self.model, self._unwrapped = self._as_measured(measured), None

    @override
    def cost_of(self, completions: Sequence[Completion]) -> float | None:
        """What answers of the evaluated model cost, where its price is known and it counted its tokens."""
        return cost_of_answers(self.quotes.get(self.model.name), completions)

    async def make_ready(self, progress: Progress) -> None:
        """What has to be ready before the first request: sandboxes, code and metrics that can work, likelihoods that
        are what they seem."""
        for note in dict.fromkeys(note for model in self.models.built for note in offers_of(model).notes):
            progress.warn(note)
        self.start_sandboxes(progress)
        await self.check()
        await self.try_tests(progress)
        await self.check_cached_models()
        self.note_equal_seeds()
        await self.refuse_wrong_likelihoods()

    async def check(self) -> None:
        """Refuse what can be known to be wrong without a request: columns that no sample has, settings without an
        effect, code, metrics."""
        self.refuse_missing_columns()
        await self.refuse_without_effect()
        await self.load_code()
        await self.try_metrics()

    async def refuse_without_effect(self) -> None:
        from assay.runs.effects import PlannedParts, refuse_without_effect

        self.notes += await refuse_without_effect(
            PlannedParts(
                config=self.config,
                tasks=self.tasks,
                model=self.measured,
                judges=[model for model in self.models.built if model is not self.measured],
                flags=self.flags,
                used_elsewhere=self.used_elsewhere,
            )
        )

    @override
    def start_sandboxes(self, progress: Progress) -> None:
        super().start_sandboxes(progress)
        self.run_file = msgspec.structs.replace(self.run_file, sandbox=self.sandbox)

    async def check_cached_models(self) -> None:
        """A model whose answers are to be cached has to be the one that it was when they were given."""
        self.notes += await self.models.check_cached()

    def note_equal_seeds(self) -> None:
        """A server that honours a seed answers every attempt at a sample alike; a model that runs here does not."""
        config = self.config
        if (
            config.seed is not None
            and config.repeat > 1
            and config.temperature != 0
            and offers_of(self.measured).remote
        ):
            self.notes.append(
                f"--seed {config.seed} is sent with every attempt: a server that honours it repeats its answer, "
                "so that --repeat would measure nothing; leave out --seed"
            )

    def belong_to(self, folder: Path) -> None:
        """Ask for the run that this folder holds, which may have begun in an earlier session."""
        self.models.name_run(f"{folder.resolve()} {sealed_as(read_run_file(folder))}")

    async def refuse_wrong_likelihoods(self) -> None:
        """A server whose likelihoods are not real ones is refused before the first real request."""
        if not self.unproven:
            return
        definition, name = self.unproven[0], self.model.name
        try:
            wrong = await likelihood_problem(self.model)
        except FailureError as error:
            raise UsageError(
                f"task `{definition.name}` needs likelihoods, and those of {name} could not be checked: {error}"
            ) from error
        if wrong is not None:
            raise UsageError(
                f"task `{definition.name}` ({definition.metric}) needs the likelihood of given texts, and {name} "
                f"cannot give it: {wrong}. {offer(definition)}"
            )

    def _as_measured(self, model: Model) -> Model:
        """The config's settings for talking to the evaluated model; they do not apply to judges."""
        return with_frame(self.models.wrap(model, keep_thinking=self.config.keep_thinking), self.config)

    def keep_to_budget(
        self,
        stop: Stop,
        earlier: Iterable[Path],
        *,
        sharers: int = 1,
        generated_for: RunFile | None = None,
        canaries: Sequence[Usage] = (),
    ) -> None:
        """Spend no more than one of `sharers` equal parts of the budget, less what `earlier` journals have spent.

        What models were paid to write the samples counts too, and what `canaries` used; `generated_for` is the run as
        first started.
        """
        earlier = [*earlier]
        definitions = (generated_for or self.run_file).definitions
        for limit in self.config.parts:
            part = PartSpending(limit, self.model.name, self.quotes, sharers)
            part.add_earlier(
                earlier, [use for each in definitions if each.name in part.tasks for use in each.generation]
            )
            self.parts.append(part)
        if limits := SpendingLimits.of(self.config):
            generation = [usage for definition in definitions for usage in definition.generation]
            quotes = {**prices_for([usage.model for usage in generation], limits), **self.quotes}
            budget = Budget(limits.shared_by(sharers), quotes, stop)
            budget.add_earlier(self.model.name, earlier, [*generation, *canaries])
            self.spend_from(budget)

    def spend_from(self, budget: Budget) -> None:
        self.model = budget.around(self.model, self.models.judges)


def with_frame(model: Model, config: RunConfig) -> Model:
    """The evaluated model with what the run adds to each request: system message, prefill, what to do if it is long."""
    if not config.system and not config.prefill and config.too_long is None:
        return model
    from assay.models.layers.conversation import WithFrame  # which few runs need

    return WithFrame(model, system=config.system, prefill=config.prefill, too_long=config.too_long)


def likelihood_tasks(tasks: Sequence[Task]) -> tuple[TaskDefinition, ...]:
    return tuple(task.definition for task in tasks if task.needs.likelihoods)


def refuse_unscorable(tasks: Sequence[Task], model: Model) -> None:
    """A task that calls a model needs one that answers, and a task that asks how likely given texts are one that can
    say so; checked once, not per sample.

    A task that sends few-shot examples as chat turns needs a model with a chat template."""
    asking = [task.name for task in tasks if task.needs.asks_model]
    if asking and not offers_of(model).answers:
        raise UsageError(
            f"task `{asking[0]}` calls a model, and `{model.name}` stands for answers that are recorded already: name "
            "the model to ask with --model"
        )
    turned = [task.name for task in tasks if task.definition.solver.options.get("turns")]
    if turned and offers_of(model).chat is False:
        raise UsageError(
            f"task `{turned[0]}` is sent as a conversation (--chat-template), and {model.name} is called for the "
            "continuation of a text (mode=completions), which no chat template is applied to. Leave out "
            "--chat-template, or use mode=chat"
        )
    if offers_of(model).likelihoods != "no":
        return
    for definition in likelihood_tasks(tasks):
        raise UsageError(
            f"task `{definition.name}` ({definition.metric}) needs the likelihood of given texts, and {model.name} can "
            f"only generate. {offer(definition)}"
        )


def refuse_other_prompts(tasks: Sequence[Task], model: Model) -> None:
    """Options of the model that contradict how these tasks are sent."""
    settings, renders = identity_of(model), offers_of(model).renders_prompts
    for task in tasks if renders else ():
        if not task.definition.plan.system_in_requests:
            continue
        is_chat = bool(task.definition.solver.options.get("turns"))
        if is_chat and settings.get("mode") == "text":
            raise UsageError(f"task `{task.name}` is sent as a conversation (--chat-template): leave out mode=text")
        if not is_chat and (settings.get("mode") == "chat" or settings.get("system") is not None):
            option = "mode=chat" if settings.get("mode") == "chat" else "system"
            raise UsageError(
                f"task `{task.name}` is sent as plain text, as lm_eval sends it, and the model's option {option} is "
                "for conversations. Leave it out, or add --chat-template (and --system)"
            )


def refuse_unpriced(tasks: Sequence[Task], model: Model) -> None:
    """An assertion about the cost of answers needs a price; without one every attempt would fail, and be paid."""
    for task in tasks:
        for part in task.definition.scorers:
            listed = part.options.get("assertions") or ()
            if not task.needs.replays and any(
                isinstance(item, Mapping) and str(item.get("type")).removeprefix("not_") == "cost" for item in listed
            ):
                raise UsageError(
                    f"task `{task.name}`: the scorer `{part.key}` asks what answers of `{model.name}` cost, and no "
                    "price is known for it: add it to prices.yaml, in money per million tokens"
                )


def describe(
    definitions: Sequence[TaskDefinition], model: dict[str, Any], config: RunConfig, command: Sequence[str] = ()
) -> RunFile:
    """The run file of a run of these tasks, as they were built; `model` is the identity of the measured one."""
    tasks = {definition.name: task_fingerprint(definition) for definition in definitions}
    settings = config.identity()
    return RunFile(
        schema=RUN_SCHEMA,
        fingerprint=fingerprint([tasks, model, settings]),
        tasks=tasks,
        model=model,
        settings=settings,
        config=config,
        definitions=tuple(definitions),
        versions=versions(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=list(command),
        commit=commit_here(),
    )
