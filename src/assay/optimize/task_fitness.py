"""Our own tasks as the fitness of a search: the candidate is the prompt around each sample, the task's scorers score.

Each evaluation is an ordinary attempt, made by `core/attempt.py`: same solver, same scorers, same failures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.attempt import attempt_key, make_attempt
from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import WithRunSettings, given_settings
from assay.core.run import Stop
from assay.core.seams import Model, Work
from assay.core.task import Task
from assay.core.types import Record, Sample, TaskDefinition
from assay.evaluators.dataset import MAX_RECORDS
from assay.evaluators.payload import CandidateParts, Evaluation, EvaluatorError, ScoreRange, failed, kind_of
from assay.optimize.demonstrations import with_demonstrations
from assay.optimize.journal import Texts, candidate_of
from assay.results.measure import Measure, headline_of, measure_of
from assay.results.outcomes import failures_of
from assay.run_config import RunConfig
from assay.runs.assemble import Parts
from assay.runs.progress import Progress
from assay.tasks.built_tasks import Unavailable
from assay.text.wording import few

WHERE_A_SAMPLE_IS_FROM = ("task", "position", "sample")
"""Where a record comes from: what evaluations need, and a proposer does not."""
OWN_PROMPT = "{prompt}"
"""Where a sample's own prompt goes; a candidate without it comes before the prompt."""


class TaskFitness:
    """An evaluator made of tasks and the model that answers them. `records` is the dataset they amount to."""

    def __init__(
        self,
        definitions: Sequence[TaskDefinition],
        config: RunConfig,
        *,
        prompt_at: str | Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        used_elsewhere: Collection[str] = (),
    ) -> None:
        """`flags` are what messages call settings of the config, where it is not what `assay run` calls them;
        `used_elsewhere` are those that the search needs for its proposer too.
        """
        self._parts = parts = Parts(config)
        parts.flags, parts.used_elsewhere = flags or {}, used_elsewhere
        parts.build(definitions)
        self._refuse_unusable()
        self._settings = given_settings(config.settings())
        places = {"": prompt_at} if isinstance(prompt_at, str) else prompt_at
        self._places = {name: place.split(".") for name, place in (places or {}).items()}
        """Where the candidate goes; by the name of the component when there are several."""
        self._definitions = {definition.name: definition for definition in definitions}
        for definition in definitions:
            for place in self._places.values():
                _text_at(definition, place)
        self._measures = {task.name: measure_to_raise(task.definition) for task in parts.tasks}
        shares = all(measure.upward_bounds == (0.0, 1.0) for measure in self._measures.values())
        self.score_range: ScoreRange = "unit" if shares else "any"
        self._tasks = {task.name: task for task in parts.tasks}
        self._rewritten: dict[tuple[str, str], Task] = {}
        self._samples: dict[tuple[str, int], Sample] = {}
        self.records = list(self._records())
        self.name = f"tasks {', '.join(self._tasks)} with model `{parts.model.name}`"
        self.called_models: Sequence[Model] = (parts.model, *parts.models.judges)
        """Those that are called."""
        run = parts.run_file
        self.identity: dict[str, Any] = {
            "tasks": run.tasks,
            "model": run.model,
            "settings": run.settings,
            "prompt_at": prompt_at if isinstance(prompt_at, str) or not prompt_at else dict(prompt_at),
        }

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        if example is None:
            raise failed(self.name, "bad_candidate", "there is no sample to ask; it was probed without an example")
        name, position = str(example["task"]), int(example["position"])
        task, sample = self._with_candidate(candidate, name, self._samples[name, position])
        work = Work(task, position, sample, 1, attempt_key(name, sample, 1))
        record = await make_attempt(work, WithRunSettings(self._parts.model, self._settings))
        return evaluation_of(record, self._measures[record.task], self.name)

    def broken_by(self, texts: Texts) -> str | None:
        """Why a task cannot be built with these texts, such as a broken template; None when all can."""
        try:
            for name in self._tasks if self._places else ():
                self._rebuilt(candidate_of(texts), name)
        except EvaluatorError as error:
            return error.failure.message.removeprefix(f"{self.name}: ")
        return None

    async def make_ready(self, progress: Progress) -> None:
        """Before the first request, as in a run: sandboxes are started and reported, likelihoods are checked."""
        await self._parts.make_ready(progress)
        self._refuse_unusable()

    async def check(self) -> None:
        """Refuse what a search would refuse before its first request, for an estimate that sends none."""
        try:
            await self._parts.check()
        finally:
            await self.close()

    def bind(self, stop: Stop, say: Callable[[str], None]) -> None:
        """From now on waiting and scoring end when the search is stopped, and an outage ends it."""
        self._parts.models.bind(stop, say)
        self._parts.supervisor.bind(stop, say)

    def _refuse_unusable(self) -> None:
        for task in self._parts.tasks:
            for scorer in task.scorers.values():
                if isinstance(scorer, Unavailable):
                    raise UsageError(f"task `{task.name}` cannot be scored here: {scorer.failure.message}")

    async def close(self) -> None:
        await self._parts.aclose()

    def own_prompt(self) -> str | dict[str, str]:
        """The candidate the tasks amount to as they are: what a search starts from when no seed is given."""
        if not self._places:
            return OWN_PROMPT
        prompts = {}
        for name, place in self._places.items():
            texts = {_text_at(definition, place) for definition in self._definitions.values()}
            if len(texts) != 1:
                raise UsageError("the tasks begin with different prompts; give a seed that is to replace them all")
            prompts[name] = texts.pop()
        return prompts[""] if list(prompts) == [""] else prompts

    def _records(self) -> Any:
        for name, task in self._tasks.items():
            for position, sample in enumerate(task.dataset):
                if _is_excluded(task, sample):
                    continue
                if len(self._samples) >= MAX_RECORDS:
                    raise UsageError(f"the tasks hold more than {MAX_RECORDS:,} samples; use --limit")
                if sample.row is not None and not self._places:
                    raise UsageError(
                        f"task `{name}` builds its prompts from a dataset row; --prompt-at says which text of its "
                        f"solver is the candidate. {_texts_there(self._definitions[name])}"
                    )
                self._samples[name, position] = sample
                shown = {"row": sample.row} if sample.row is not None else {"prompt": sample.prompt}
                yield {
                    "task": name,
                    "position": position,
                    "sample": sample.id,
                    **shown,
                    "targets": list(sample.targets),
                }

    def _with_candidate(self, candidate: str, name: str, sample: Sample) -> tuple[Task, Sample]:
        if not self._places:
            text = with_demonstrations(candidate)
            return self._tasks[name], msgspec.structs.replace(sample, prompt=filled(text, sample.prompt))
        return self._rebuilt(candidate, name), sample

    def _rebuilt(self, candidate: str, name: str) -> Task:
        """The task with the candidate in its place."""
        key = (name, candidate)
        if key not in self._rewritten:
            definition = self._definitions[name]
            options: Any = definition.solver.options
            for component, place in self._places.items():
                options = _with(options, place, self._text_for(component, candidate))
            solver = msgspec.structs.replace(definition.solver, options=options)
            try:
                self._rewritten[key] = self._parts.build_task(msgspec.structs.replace(definition, solver=solver))
            except UsageError as error:
                # the proposer broke the template: its text is at fault, not the user
                raise failed(self.name, "bad_candidate", str(error)) from error
        return self._rewritten[key]

    def _text_for(self, component: str, candidate: str) -> str:
        candidate = with_demonstrations(candidate)
        if not isinstance(candidate, CandidateParts):
            return candidate
        if component not in candidate.components:
            raise failed(self.name, "bad_candidate", f"the candidate has no component `{component}`")
        return candidate.components[component]


def evaluation_of(record: Record, measure: Measure, name: str) -> Evaluation:
    """What an attempt is worth to a search: the number that its task averages, turned so that more is better."""
    failures = failures_of(measure.scorer, record.failures)
    if failures and not record.excluded:
        first = failures[0]
        raise failed(name, first.kind, f"{first.stage}: {first.message}", retryable=first.retryable)
    if record.excluded:
        rules = ", ".join(record.excluded)
        raise failed(name, "excluded", f"the task's own rules exclude this sample: {rules}")
    score = measure.upwards(measure.of(record))
    if score is None:
        raise failed(name, "bad_output", f"no scorer of task `{record.task}` gave the number it is about")
    side_info: dict[str, Any] = {"prediction": record.trace.prediction if record.trace else ""}
    for each in record.scores:
        side_info |= {f"{each.name}_reason": each.reason} if each.reason else {}
        side_info |= {f"{each.name}_answer": each.answer} if each.answer is not None else {}
    return Evaluation(score=score, side_info=side_info)


def filled(candidate: str, prompt: str) -> str:
    """The prompt of the model: the candidate with the sample's prompt in its place, or before it."""
    return candidate.replace(OWN_PROMPT, prompt) if OWN_PROMPT in candidate else f"{candidate}\n\n{prompt}"


def _is_excluded(task: Task, sample: Sample) -> bool:
    """Whether a rule of the task excludes the sample whatever is answered: it has no part in the search then."""
    for applies in task.actions.values():
        try:
            if applies(sample, None, ()):
                return True
        except FailureError:
            continue  # it looks at answers or scores
    return False


def measure_to_raise(definition: TaskDefinition) -> Measure:
    """The number of a task that a search raises; `UsageError` where there is none."""
    if headline_of(definition) is None:
        raise UsageError(
            f"task `{definition.name}` has no score that a search could raise: it only lists how often each value "
            "occurs. Give one of its metrics a number, such as a `frequency` with a `label`."
        )
    measure = measure_of(definition)
    why = measure.untested
    if why is None and measure.field is None and measure.same_as is None:
        why = "its samples have no number of their own"
    if why is not None:
        raise UsageError(f"task `{definition.name}` has no score that a search could raise: {why}")
    return measure


def _text_at(definition: TaskDefinition, path: Sequence[str]) -> str:
    try:
        text = _at(definition.solver.options, path)
    except UsageError as error:
        raise UsageError(f"{error}. {_texts_there(definition)}") from error
    if not isinstance(text, str):
        place = ".".join(path)
        raise UsageError(
            f"--prompt-at {place}: there is no text in task `{definition.name}`, but {kind_of(text)}; "
            f"name the text itself. {_texts_there(definition)}"
        )
    return text


def _texts_there(definition: TaskDefinition) -> str:
    """The texts of a task's solver, by the places that `--prompt-at` takes."""
    places = list(_text_places(definition.solver.options))
    return f"Texts of the solver: {few(places)}" if places else "The solver has no texts"


def _text_places(options: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(options, str):
        # a type or a role is a text, too, but none that anybody optimizes
        if path[-1] not in ("type", "role", "key", "model_key") and (" " in options or "{{" in options):
            yield ".".join(path)
        return
    items = enumerate(options) if isinstance(options, list | tuple) else ()
    for step, value in options.items() if isinstance(options, Mapping) else items:
        yield from _text_places(value, (*path, str(step)))


def _at(options: Any, path: Sequence[str]) -> Any:
    for step in path:
        try:
            options = options[int(step)] if isinstance(options, list | tuple) else options[step]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise UsageError(f"--prompt-at {'.'.join(path)}: the solver has no `{step}` there") from error
    return options


def _with(options: Any, path: Sequence[str], text: str) -> Any:
    _at(options, path)
    if not path:
        return text
    step, rest = path[0], path[1:]
    if isinstance(options, list | tuple):
        position = int(step)
        return [_with(each, rest, text) if number == position else each for number, each in enumerate(options)]
    return {name: _with(each, rest, text) if name == step else each for name, each in options.items()}
