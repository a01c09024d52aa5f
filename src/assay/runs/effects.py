"""Settings that nothing in a planned run applies are refused by name, before the first request.

What a setting applies to stands on its field (`setting.py`); here is whether a run has such a thing. The run decides,
not a table: its models and solvers say what they do, and what a task sets itself shows in its first requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from assay.core.describe import ScorerInfo
from assay.core.errors import UsageError
from assay.core.model_stack import innermost
from assay.core.seams import FillsBatches, Model, TakesBatches, offers_of
from assay.core.task import Task
from assay.core.types import PartSpec, Request
from assay.datasets.content import is_elsewhere
from assay.models.layers.cached import is_wanted
from assay.results.report_settings import key_hint, keys_in, metadata_value
from assay.run_config import RunConfig
from assay.runs.preview import first_requests
from assay.scorers.processes import MayMove, OwnCode, is_own
from assay.setting import AppliesTo, flag_of, settings_of
from assay.tasks.descriptions import runs_programs
from assay.text.wording import few

KNOWN_KEYS = 1000
"""Samples of a task whose keys are offered when a key is misspelt."""


@dataclass(frozen=True, kw_only=True)
class PlannedParts:
    """What a run is made of, as far as settings can apply to it."""

    config: RunConfig
    tasks: Sequence[Task]
    model: Model
    """The evaluated one, without wrappers."""
    judges: Sequence[Model]
    flags: Mapping[str, str] = field(default_factory=dict)
    """What the command calls settings, where it is not the name that `run` has for them."""
    used_elsewhere: Collection[str] = ()
    """Settings that have an effect outside of the run, such as for the proposer of a search."""

    @property
    def asking(self) -> list[Task]:
        """The tasks that call the evaluated model."""
        return [task for task in self.tasks if task.needs.asks_model]

    @property
    def called(self) -> list[Model]:
        return [*([self.model] if self.asking else []), *self.judges]


async def refuse_without_effect(run: PlannedParts) -> list[str]:
    """`UsageError` for the first setting that the run has no use for: the flag, why, and what to do.

    Returns a sentence for each that is from the project's defaults, which are for many runs.
    """
    notes: list[str] = []
    requests: dict[str, list[Request] | None] = {}
    given = {
        name: applies_to
        for name, applies_to in _applies_to().items()
        if _is_set(run.config, name) and name not in run.used_elsewhere
    }
    if AppliesTo.ANSWERS in given.values():
        for task in run.asking:
            requests[task.name] = await first_requests(task.definition)
    for name, applies_to in given.items():
        why = _why_not_answers(run, name, requests) if applies_to is AppliesTo.ANSWERS else None
        if applies_to in _REASONS:
            why = _REASONS[applies_to](run, name)
        if why is not None and name in run.config.usual:
            notes.append(f"`{name}` of the project's defaults has no effect here: {why}")
        elif why is not None:
            raise UsageError(f"{_called(run, name)} has no effect here: {why}")

    for name in dict.fromkeys(name for own in run.config.of_tasks.values() for name in own.generation):
        if run.asking and (why := why_not_applied(run.model, name)) is not None:
            notes.append(f"`{name}` of the project's folders has no effect here: {why}")
    return notes


def _called(run: PlannedParts, name: str) -> str:
    """A setting as whoever gave it wrote it."""
    if (axis := f"settings.{name}") in run.config.cell:
        return f"`{axis}` of the suite's matrix"
    return run.flags.get(name) or flag_of(RunConfig, name)


def _applies_to() -> dict[str, AppliesTo]:
    return {name: field.setting.applies_to for name, field in settings_of(RunConfig).items()}


def _is_set(config: RunConfig, name: str) -> bool:
    value = getattr(config, name)
    return value is not None and value is not False and value != getattr(_DEFAULTS, name)


_DEFAULTS = RunConfig()


def _why_no_calls(run: PlannedParts, _: str) -> str | None:
    return None if run.called else "no task here calls a model"


def _why_no_evaluated_calls(run: PlannedParts, _: str) -> str | None:
    return None if run.asking else "no task here calls the evaluated model"


def _why_no_judges(run: PlannedParts, _: str) -> str | None:
    if not run.judges:
        return "no task here has a judge"
    if all(any(map(_reads_verdicts_itself, task.definition.scorers)) for task in run.tasks):
        return "the scorers of these tasks read the verdicts of their judges themselves, so none is asked for again"
    return None


def _reads_verdicts_itself(scorer: PartSpec) -> bool:
    return isinstance(scorer.about, ScorerInfo) and scorer.about.reads_verdicts_itself


def _why_no_repeats(run: PlannedParts, _: str) -> str | None:
    """Of a file's own trials its author says that they are some."""
    if run.called or not all(task.needs.replays and not task.definition.plan.trials for task in run.tasks):
        return None
    scorers = [part for task in run.tasks for part in task.definition.scorers]
    if all(_scores_alike(part) for part in scorers):
        return "every answer is recorded, and gets the same scores each time"
    return None


def _scores_alike(scorer: PartSpec) -> bool:
    about = scorer.about
    return isinstance(about, ScorerInfo) and about.runs == "here" and not about.reaches and not is_own(scorer)


def _why_not_in_requests(run: PlannedParts, name: str) -> str | None:
    if not run.asking:
        return _why_no_evaluated_calls(run, name)
    return why_not_applied(run.model, name)


def why_not_applied(model: Model, name: str) -> str | None:
    """Why a model has no use for a setting of its requests; None where it applies it."""
    applies = offers_of(model).applies
    if applies is None or name in applies:
        return None
    others = [other for other in applies if other in _applies_to()]
    return f"`{model.name}` applies {few(others) if others else 'no such setting'}; leave it out for this model"


def _why_not_answers(run: PlannedParts, name: str, requests: Mapping[str, list[Request] | None]) -> str | None:
    """A setting of the run is a default of each request: one that the task sets itself is not replaced."""
    if (why := _why_not_in_requests(run, name)) is not None:
        return why
    if any(made is None for made in requests.values()):
        return None  # only the run itself finds out
    known = [request for made in requests.values() for request in made or ()]
    written = [request for request in known if request.continuation is None and not request.embed]
    if not written:
        return "no task here asks for a written answer; the likelihood of given texts does not depend on it"
    if all(getattr(request, name) is not None for request in written):
        return f"every task here sets its own ({next(iter(requests))}: {getattr(written[0], name)!r})"
    return None


def _why_no_servers(run: PlannedParts, _: str) -> str | None:
    return (
        None
        if any(offers_of(model).remote for model in run.called)
        else "the model is not on a server, and neither is a judge"
    )


def _why_not_rendered(run: PlannedParts, name: str) -> str | None:
    if run.asking and offers_of(run.model).renders_prompts:
        return None
    return _why_no_evaluated_calls(run, name) or f"`{run.model.name}` gets every prompt whole"


def _why_no_cache(run: PlannedParts, _: str) -> str | None:
    if not run.called or any(is_wanted(run.config, offers_of(model)) for model in run.called):
        return _why_no_calls(run, _)
    return "every model here says `cache: false`" if run.config.cache else "no answers are cached; add --cache"


def _why_no_batches(run: PlannedParts, _: str) -> str | None:
    takes = any(isinstance(innermost(model), TakesBatches | FillsBatches) for model in run.called)
    return None if takes else "no model here takes several requests at once"


def _why_no_processes(run: PlannedParts, _: str) -> str | None:
    for task in run.tasks:
        if any(isinstance(scorer, OwnCode) and scorer.only_computes for scorer in task.scorers.values()):
            return None
        moves = any(isinstance(scorer, MayMove) for scorer in task.scorers.values())
        # rows of tables stay in this process
        if moves and (is_elsewhere(task.definition.dataset) or all(s.row is None for s in islice(task.dataset, 1))):
            return None
    return "no scorer here can run in a process of its own"


def _why_no_programs(run: PlannedParts, _: str) -> str | None:
    if any(runs_programs(task.definition) for task in run.tasks):
        return None
    return "no task here runs code that a model has written"


def _why_no_key(run: PlannedParts, name: str) -> str | None:
    """A misspelt key would slice or cluster nothing. Samples are read until one has it."""
    value = getattr(run.config, name)
    for key in [value] if isinstance(value, str) else value:
        known: dict[str, None] = {}
        if not any(_has_key(task, key, known) for task in run.tasks):
            return f"no sample has the key `{key}`. {key_hint(key, known)}"
    return None


def _has_key(task: Task, key: str, known: dict[str, None]) -> bool:
    if is_elsewhere(task.definition.dataset):
        return True  # only the run itself finds out
    for number, sample in enumerate(task.dataset):
        slices = sample.slices()
        if metadata_value(slices, key) is not None:
            return True
        if number < KNOWN_KEYS:
            known |= dict.fromkeys(keys_in(slices))
    return False


_REASONS: Mapping[AppliesTo, Callable[[PlannedParts, str], str | None]] = {
    AppliesTo.CALLS: _why_no_calls,
    AppliesTo.EVALUATED_CALLS: _why_no_evaluated_calls,
    AppliesTo.JUDGES: _why_no_judges,
    AppliesTo.REPEATS: _why_no_repeats,
    AppliesTo.REQUESTS: _why_not_in_requests,
    AppliesTo.SERVERS: _why_no_servers,
    AppliesTo.RENDERED: _why_not_rendered,
    AppliesTo.CACHE: _why_no_cache,
    AppliesTo.BATCHES: _why_no_batches,
    AppliesTo.SCORER_PROCESSES: _why_no_processes,
    AppliesTo.PROGRAMS: _why_no_programs,
    AppliesTo.SAMPLE_KEYS: _why_no_key,
}
"""Why a setting of this kind has no effect on a run; None where it has one. The other kinds always have."""
