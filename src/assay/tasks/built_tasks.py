"""TaskDefinition -> Task: every name resolved through the catalog, every option checked, nothing run yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from assay import catalog
from assay.core.attempt import attempt_key
from assay.core.describe import ScorerInfo
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Dataset, Model, Preparable, Scorer, Solver, walk_from
from assay.core.task import REFUSED_HERE, Task
from assay.core.types import Failure, PartSpec, Sample, Score, TaskDefinition, Trace
from assay.datasets.content import is_elsewhere
from assay.formats.media_files import media_files_of
from assay.own_functions import is_async
from assay.run_config import RunConfig
from assay.scorers.processes import is_own, placed
from assay.storage.key_set import KeySet
from assay.tasks.descriptions import described_ranges, own_options, with_descriptions
from assay.trust.consent import require_trust

if TYPE_CHECKING:
    from assay.sandbox import SandboxReport
    from assay.scorers.over_parts import Postprocessor
    from assay.scorers.supervisor import Supervisor


def build_task(
    definition: TaskDefinition,
    *,
    context: BuildContext = NO_CONTEXT,
    config: RunConfig | None = None,
    supervisor: Supervisor | None = None,
    trust: bool = False,
    out_of_a_run: bool = False,
) -> Task:
    """The task, ready to be run. An unknown name or option is a `UsageError` that says in which task.

    The only place where names become objects, so also where a task that reaches for more than the user allowed is
    refused: `trust` is what the user said now, `out_of_a_run` that the definition comes out of a `run.json`.
    """
    require_trust([definition], trust=trust, out_of_a_run=out_of_a_run)
    context = replace(
        context, own_code=True, task=definition.name, paces=definition.plan.paces, modules=definition.modules
    )
    dataset = build_dataset(definition, own_code=True)
    for part in definition.aggregates:
        _check_aggregate(part, definition)
    if not definition.dataset.size and not len(dataset):
        where = definition.source or definition.format
        raise UsageError(
            f"{where}: task `{definition.name}` has no samples: its data is empty, or filters keep nothing"
        )
    dataset = chosen_samples(dataset, definition, config or RunConfig())
    context = replace(context, dataset=dataset)
    scorers: dict[str, Scorer] = {}
    postprocessors: dict[str, Postprocessor] = {}
    for part in definition.scorers:
        try:
            scorers[part.key] = _make_scorer(part, definition, context, postprocessors, supervisor)
        except FailureError as error:
            scorers[part.key] = Unavailable(part.key, msgspec.structs.replace(error.failure, kind=REFUSED_HERE))
    solver: Solver = _make_part("solver", definition.solver, definition, context)
    definition = with_descriptions(definition)
    return Task(
        definition=definition,
        ranges={part.key: described_ranges((part,)) for part in definition.scorers if is_own(part)},
        dataset=dataset,
        solver=solver,
        needs=catalog.solver_needs(definition.solver, own_code=True),
        solve=media_files_of(definition).around(solver),
        scorers=scorers,
        actions={part.key: _make_part("action", part, definition, context) for part in definition.actions},
        unusable=_why_unusable(scorers),
    )


class Unavailable:
    """Stands for a scorer that needs something this machine lacks: its scores are missing, for that reason."""

    def __init__(self, name: str, failure: Failure) -> None:
        self.name, self.failure = name, failure

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        raise FailureError(self.failure)


def _why_unusable(scorers: Mapping[str, Scorer]) -> Failure | None:
    failures = [scorer.failure for scorer in scorers.values() if isinstance(scorer, Unavailable)]
    return failures[0] if failures and len(failures) == len(scorers) else None


def _make_scorer(
    part: PartSpec,
    definition: TaskDefinition,
    context: BuildContext,
    postprocessors: dict[str, Postprocessor],
    supervisor: Supervisor | None,
) -> Scorer:
    """The scorer, placed where it scores and wrapped by the task's postprocessor, of which all its scorers have one."""
    options = dict(part.options)
    source = options.pop(catalog.POSTPROCESS, None)
    part = msgspec.structs.replace(part, options=options)
    if context.model_for is not None:
        asked_by = (definition.name, part.key)
        context = replace(context, model_for=partial(context.model_for, asked_by=asked_by))

    def made(options: Mapping[str, Any], context: BuildContext) -> Scorer:
        one: Scorer = _make_part("scorer", msgspec.structs.replace(part, options=dict(options)), definition, context)
        return one

    panel = catalog.panel_options(part.use, options)
    own = {name: value for name, value in options.items() if name not in panel}
    info = catalog.describe("scorer", part.use, own, own_code=True) if panel else None
    if not isinstance(info, ScorerInfo):
        scorer = placed(part, partial(made, options), context, supervisor)
    else:
        from assay.scorers.judging.panel import with_panel  # most scorers have one judge, or none

        if info.verdict is None:  # it may score in another process, which knows nothing of people
            alone = msgspec.structs.replace(part, options=own)
            inner = placed(alone, partial(made, own), context, supervisor)
            scorer = with_panel(part.key, options, info, lambda _: inner, context)
        else:
            judging = info

            def judge(context: BuildContext) -> Scorer:
                return with_panel(part.key, options, judging, lambda given: made(given, context), context)

            scorer = placed(part, judge, context, supervisor)
    if source is None:
        return scorer
    from assay.scorers.over_parts import Postprocessor, over_parts

    return over_parts(scorer, postprocessors.setdefault(source, Postprocessor(source, context)))


def build_dataset(definition: TaskDefinition, *, own_code: bool = False) -> Dataset:
    """The samples alone, for callers that only read."""
    use, options = definition.dataset.use, definition.dataset.options
    with located_in(definition):
        dataset: Dataset = _fitting("dataset", use, catalog.make("dataset", use, options, own_code=own_code))
        return dataset


def build_solver(definition: TaskDefinition, model_for: Callable[..., Model] | None = None) -> Solver:
    """The solver alone, to show what would be sent; the author's Python is not run."""
    context = BuildContext(task=definition.name, model_for=model_for)
    solver: Solver = _make_part("solver", definition.solver, definition, context)
    return solver


def start_scorers(task: Task) -> tuple[Task, list[SandboxReport]]:
    """Start what confines model-written code: the task, without the scorers for which this machine cannot, and what
    was started.
    """
    scorers, reports = dict(task.scorers), []
    for key, scorer in task.scorers.items():
        if isinstance(scorer, Preparable):
            try:
                reports.append(scorer.start_here())
            except FailureError as error:
                scorers[key] = Unavailable(key, error.failure)
    return replace(task, scorers=scorers, unusable=_why_unusable(scorers)), reports


def keys_of(definitions: Iterable[TaskDefinition], config: RunConfig) -> KeySet | None:
    """The keys of all attempts; None where the samples would have to be fetched."""
    keys = KeySet()
    for definition in definitions:
        if is_elsewhere(definition.dataset):
            return None
        for sample in chosen_samples(build_dataset(definition), definition, config):
            for attempt in range(1, config.repeat_of(definition.name) + 1):
                keys.add(int(attempt_key(definition.name, sample, attempt), 16))
    return keys


def chosen_samples(dataset: Dataset, definition: TaskDefinition, config: RunConfig) -> Dataset:
    """The samples of a dataset that a run asks for."""
    if config.only is not None:
        dataset = PickedSamples(dataset, config.only.get(definition.name, ()))
    limit = config.limit_of(definition.name)
    return dataset if limit is None else FirstSamples(dataset, limit)


class PickedSamples:
    """The samples of a dataset that have one of these ids."""

    def __init__(self, dataset: Dataset, ids: Iterable[str]) -> None:
        self._dataset = dataset
        self._ids = frozenset(ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Sample]:
        return (sample for sample in self._dataset if sample.id in self._ids)


class FirstSamples:
    """The first N samples of a dataset."""

    def __init__(self, dataset: Dataset, limit: int) -> None:
        self._dataset = dataset
        self._limit = limit

    def __len__(self) -> int:
        return min(self._limit, len(self._dataset))

    def __iter__(self) -> Iterator[Sample]:
        return islice(iter(self._dataset), self._limit)

    def walk_from(self, position: int) -> Iterator[Sample]:
        return islice(walk_from(self._dataset, position), max(0, self._limit - position))


def _make_part(kind: str, part: PartSpec, definition: TaskDefinition, context: BuildContext) -> Any:
    with located_in(definition, f"{kind} `{part.use}`"):
        offered = {"context": context, **({"key": part.key} if kind == "scorer" else {})}
        made = _fitting(
            kind, part.use, catalog.make(kind, part.use, part.options, own_code=context.own_code, **offered)
        )
        if kind == "scorer" and made.name != part.key:
            use = part.options.get("metric", part.use)
            raise UsageError(
                f"the scorer `{use}` has the `name` `{made.name}`; it must be the `key`, here `{part.key}`"
            )
        return made


_NEEDED = {"scorer": ("name", "__call__"), "solver": ("__call__",), "dataset": ("__len__", "__iter__")}


def _fitting(kind: str, use: str, made: Any) -> Any:
    """What a factory made, if it has what every part of its kind needs: the factory may be third-party code."""
    needed = _NEEDED.get(kind, ())
    if lacking := [f"`{name}`" for name in needed if not hasattr(made, name)]:
        raise UsageError(f"the {kind} `{use}` makes a {type(made).__name__}, which has no {' and no '.join(lacking)}")
    if "__call__" in needed and not is_async(made):
        raise UsageError(f"the {kind} `{use}` makes a {type(made).__name__} whose `__call__` is not `async`")
    return made


def has_own_parts(definition: TaskDefinition) -> bool:
    """Whether the solver, a scorer or a metric is third-party code, which may return anything."""
    return not catalog.is_ours("solver", definition.solver.use) or any(map(is_own, definition.scorers))


def _check_aggregate(part: PartSpec, definition: TaskDefinition) -> None:
    """Third-party aggregates are computed when the run ends, too late to report an unknown option."""
    if catalog.is_ours("aggregate", part.use):
        return
    with located_in(definition):
        aggregate = catalog.resolve("aggregate", part.use, own_code=True)
        options = own_options(part, aggregate)
        catalog.arguments_for("aggregate", part.use, aggregate, options, dict.fromkeys(catalog.OFFERED["aggregate"]))


@contextmanager
def located_in(definition: TaskDefinition, what: str = "dataset") -> Iterator[None]:
    """Errors that say which task they are about, and where its file has the option at fault."""
    where = f"{definition.source or definition.format}: task `{definition.name}`"
    try:
        yield
    except catalog.OptionError as error:
        from assay.formats.declarative.places import located  # reads the file again: only for error messages

        raise located(error, definition.provenance.files) or UsageError(f"{where}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    except TypeError as error:
        raise UsageError(f"{where}: {what}: {error}") from error
