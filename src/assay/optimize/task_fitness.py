"""Our own tasks as the fitness of a search: the candidate is the prompt around each sample, the task's scorers score.

Each evaluation is an ordinary attempt, made by `core/attempt.py`: same solver, same scorers, same failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.core.attempt import attempt_key, make_attempt
from assay.core.config import RunConfig
from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import Asked
from assay.core.seams import BuildContext, Work
from assay.core.task import Task, task_fingerprint
from assay.core.types import Record, Sample, TaskDefinition
from assay.evaluators.dataset import MAX_RECORDS
from assay.evaluators.payload import Evaluation, ScoreRange, failed
from assay.models.build import make_model
from assay.models.pool import ModelPool, identity_of
from assay.reports.measure import Measure, headline_of, measure_of
from assay.tasks.build import build_task
from assay.tasks.trust import require_trust

PLACE = "{prompt}"
"""Where a sample's own prompt goes; a candidate without it comes before the prompt."""


class TaskFitness:
    """An evaluator made of tasks and the model that answers them. `records` is the dataset they amount to."""

    def __init__(
        self, definitions: Sequence[TaskDefinition], config: RunConfig, *, prompt_at: str | None = None
    ) -> None:
        require_trust(definitions, trust=config.trust)
        model = make_model(config.model, config.model_options)
        self._models = ModelPool(config)
        self._context = BuildContext(
            model_for=self._models.model_for, min_sandbox=config.min_sandbox, timeout_seconds=config.timeout_seconds
        )
        self._config = config
        self._prompt_at = prompt_at.split(".") if prompt_at else None
        self._definitions = {definition.name: definition for definition in definitions}
        self._measures = {definition.name: _measure(definition) for definition in definitions}
        shares = all(each.bounds == (0.0, 1.0) for each in self._measures.values())
        self.score_range: ScoreRange = "unit" if shares else "any"
        self._tasks = {name: self._built(definition) for name, definition in self._definitions.items()}
        self._rewritten: dict[tuple[str, str], Task] = {}
        self._model = self._models.wrap(model)
        self._samples: dict[tuple[str, int], Sample] = {}
        self.records = list(self._records())
        self.name = f"tasks {', '.join(self._tasks)} with model `{model.name}`"
        self.model_names = (model.name, *(judge.name for judge in self._models.judges))
        """Who is asked, as prices know them."""
        self.identity: dict[str, Any] = {
            "tasks": {definition.name: task_fingerprint(definition) for definition in definitions},
            "model": identity_of(model),
            "settings": config.identity(),
            "prompt_at": prompt_at,
        }

    async def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Evaluation:
        if example is None:
            raise failed(self.name, "bad_candidate", "there is no sample to ask; it was probed without an example")
        name, position = str(example["task"]), int(example["position"])
        task, sample = self._with_candidate(candidate, name, self._samples[name, position])
        work = Work(task, position, sample, 1, attempt_key(name, sample, 1))
        record = await make_attempt(work, Asked(self._model, self._config.settings(), 1))
        await asyncio.sleep(0)  # who asked to end is heard here, and what was given up for it is no failure
        return evaluation_of(record, self._measures[record.task], self.name)

    async def close(self) -> None:
        for task in (*self._tasks.values(), *self._rewritten.values()):
            for part in (*task.scorers.values(), task.solver):
                close = getattr(part, "aclose", None)
                if close is not None:
                    await close()
        await self._models.aclose()

    def own_prompt(self) -> str:
        """The candidate the tasks amount to as they are: what a search starts from when no seed is given."""
        if self._prompt_at is None:
            return PLACE
        texts = {str(_at(definition.solver.options, self._prompt_at)) for definition in self._definitions.values()}
        if len(texts) != 1:
            raise UsageError("the tasks begin with different prompts; give a seed that is to replace them all")
        return texts.pop()

    def _built(self, definition: TaskDefinition) -> Task:
        task = build_task(definition, context=self._context, limit=self._config.limit, trust=True)
        if task.unusable is not None:
            raise UsageError(f"task `{definition.name}` cannot be scored here: {task.unusable.message}")
        return task

    def _records(self) -> Any:
        for name, task in self._tasks.items():
            for position, sample in enumerate(task.dataset):
                if _is_excluded(task, sample):
                    continue
                if len(self._samples) >= MAX_RECORDS:
                    raise UsageError(f"the tasks hold more than {MAX_RECORDS:,} samples; use --limit")
                if sample.row is not None and self._prompt_at is None:
                    raise UsageError(
                        f"task `{name}` builds its prompts from a dataset row; --prompt-at says which text of its "
                        "solver is the candidate, such as input_builder.input_messages.0.content"
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
        if self._prompt_at is None:
            return self._tasks[name], msgspec.structs.replace(sample, prompt=filled(candidate, sample.prompt))
        key = (name, candidate)
        if key not in self._rewritten:
            definition = self._definitions[name]
            options = _with(definition.solver.options, self._prompt_at, candidate)
            solver = msgspec.structs.replace(definition.solver, options=options)
            try:
                self._rewritten[key] = self._built(msgspec.structs.replace(definition, solver=solver))
            except UsageError as error:
                # the proposer broke the template: its text is at fault, not the user
                raise failed(self.name, "bad_candidate", str(error)) from error
        return self._rewritten[key], sample


def evaluation_of(record: Record, measure: Measure, name: str) -> Evaluation:
    """What an attempt is worth to a search: the number that its task averages, turned so that more is better."""
    if record.failures and not record.excluded:
        first = record.failures[0]
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
    """What the model is asked: the candidate with the sample's prompt in its place, or before it."""
    return candidate.replace(PLACE, prompt) if PLACE in candidate else f"{candidate}\n\n{prompt}"


def _is_excluded(task: Task, sample: Sample) -> bool:
    """Whether a rule of the task excludes the sample whatever is answered: it has no part in the search then."""
    for applies in task.actions.values():
        try:
            if applies(sample, None, ()):
                return True
        except FailureError:
            continue  # it looks at answers or scores
    return False


def _measure(definition: TaskDefinition) -> Measure:
    if headline_of(definition) is None:
        raise UsageError(
            f"task `{definition.name}` has no score that a search could raise: it only lists how often each value "
            "occurs. Give one of its metrics a number, such as a `frequency` with a `label`."
        )
    return measure_of(definition)


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
