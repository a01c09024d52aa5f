"""A task gone through without a model: every template rendered on real rows, every scorer and rule tried.

A script stands for the measured model and for every other one. The measured model gives each scorer's gold answer, then
the empty one; a judge gives one verdict of each kind. What breaks on the way would break a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.core.attempt import apply_rules, failure_of, raise_unless_part_error
from assay.core.errors import FailureError
from assay.core.seams import Capabilities, Model, Scorer
from assay.core.task import Task
from assay.core.types import Completion, Failure, PartSpec, Request, Sample, Score, Trace
from assay.models.adapters import toy
from assay.scorers.judge import said
from assay.scorers.rehearsed import Judged, KnowsGold
from assay.stats.metric_snippet import metric_snippet, metric_values
from assay.tasks.declarative.schema.metrics import FIELDS_READ
from assay.wording import hint, shortened

MOST_SAMPLES = 1000
"""Of a larger dataset so many are tried, from its first to its last."""
SOME_ANSWER = Completion(text="an answer")
EMPTY_ANSWER = Completion(text="")
MARKS = ("score", "is_correct", "bleu_score", "all_required_calls_made")
"""The values that are 1 when an answer is wholly right."""
_SNIPPETS = ("run_solver_snippet", "compute_scores_snippet", "compute_evidence_snippet", "compute_metrics_snippet")
_BUGS = (
    *("NameError", "KeyError", "AttributeError", "TypeError", "ImportError", "ModuleNotFoundError"),
    *("could not be loaded", "must return"),
)
"""What a snippet raises for its own faults, whatever the model said."""


class Script:
    """Stands for every model of a task. What it says is said here first."""

    def __init__(self) -> None:
        self.answer = SOME_ANSWER
        """Of the measured model."""
        self.others_say: Callable[[Request], str] = lambda _: ""
        """Of judges and simulated users."""
        self.asked: list[Request] = []
        self.others_asked: list[Request] = []

    @property
    def measured(self) -> Model:
        return _Measured(self)

    def model_for(self, spec: str, options: Mapping[str, Any] | None = None, **limits: Any) -> Model:
        """Any other model of the task: nobody is asked."""
        del options, limits
        return _Other(spec, self)


class _Measured:
    name = "script"

    def __init__(self, script: Script) -> None:
        self._script = script

    async def generate(self, request: Request) -> Completion:
        self._script.asked.append(request)
        if request.continuation is not None:
            return Completion(text="", logprob=-1.0, tokens_out=1)
        answer = self._script.answer
        return msgspec.structs.replace(answer, raw={"references": [{"content": answer.text}]})


class _Other:
    capabilities = Capabilities(embeds=True)

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script

    async def generate(self, request: Request) -> Completion:
        self._script.others_asked.append(request)
        if request.embed:
            return Completion(text="", embedding=toy.embedding(request.text()))
        return Completion(text=self._script.others_say(request))


class Fault(Struct, frozen=True, kw_only=True):
    """Something that would go wrong in a run, at one field, on one sample or on many alike."""

    problem: str
    field: str
    """By the names of the parts: `scorers.judge.user_prompt`."""
    sample: str
    """The first one; empty where it is about none."""
    message: str
    error: bool = True
    samples: int = 1


class Heard(Struct, frozen=True, kw_only=True):
    """One sample gone through, to be shown: what is asked, what was answered for the model, what it scores."""

    sample: str
    requests: list[Request]
    answer: str
    judged: dict[str, list[Request]]
    """What each judge is asked, by its scorer's key."""
    scores: list[Score]


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What going through a task found."""

    tried: int
    gold_tried: int
    without_gold: dict[str, int]
    """Scorers that never saw an answer they give full marks, for want of a known one, and on how many samples."""
    faults: list[Fault]
    heard: Heard | None


async def rehearse(task: Task, script: Script) -> Rehearsal:
    """Go through the samples of a task, or a stated number of a large dataset's."""
    rehearsing = _Rehearsing(task, script)
    for sample in _spread(task):
        await rehearsing.sample(sample)
    await rehearsing.aggregates()
    return rehearsing.found()


def _spread(task: Task) -> Iterator[Sample]:
    size = len(task.dataset)
    if size <= MOST_SAMPLES:
        yield from task.dataset
        return
    chosen = {round(at * (size - 1) / (MOST_SAMPLES - 1)) for at in range(MOST_SAMPLES)}
    yield from (sample for at, sample in enumerate(task.dataset) if at in chosen)


class _Tried(NamedTuple):
    """A trace, and whether the answer in it is what the script gave."""

    trace: Trace
    answer: Completion | None
    """None where the answer is a recorded one, or there is none."""


class _Rehearsing:
    def __init__(self, task: Task, script: Script) -> None:
        self._task = task
        self._script = script
        self._parts = {part.key: part for part in task.definition.scorers}
        self._faults: dict[tuple[str, str, str], Fault] = {}
        self._samples_at_fault: dict[tuple[str, str, str], set[str]] = {}
        self._tried = self._gold_tried = 0
        self._without_gold: dict[str, int] = {}
        self._scores: dict[str, list[Score]] = {key: [] for key in self._parts}
        self._heard: Heard | None = None

    def found(self) -> Rehearsal:
        faults = sorted(self._faults.values(), key=lambda fault: not fault.error)
        return Rehearsal(
            tried=self._tried,
            gold_tried=self._gold_tried,
            without_gold=self._without_gold,
            faults=faults,
            heard=self._heard,
        )

    async def sample(self, sample: Sample) -> None:
        self._tried += 1
        golds = self._golds(sample)
        answers = list(dict.fromkeys(golds.values())) if _hashable(golds.values()) else list(golds.values())
        seen = set(golds)
        for number, answer in enumerate([*(answers or [SOME_ANSWER]), EMPTY_ANSWER]):
            tried = await self._solve(sample, answer)
            if tried is None:
                return
            scores = await self._score(sample, tried, golds, first=number == 0)
            if tried.answer is None:
                return  # it stands as it is, whatever a model would say
            self._gold_tried += number == 0 and bool(golds)
            if answer in answers:
                seen |= {score.name for score in scores if _marks(score) and all(map(_is_full, _marks(score)))}
        if all(request.continuation is not None for request in self._script.asked):
            return  # likelihoods are asked for, and no answer
        for scorer in self._task.scorers_for(sample):
            if scorer.name not in seen and not isinstance(scorer, Judged):
                self._without_gold[scorer.name] = self._without_gold.get(scorer.name, 0) + 1

    def _golds(self, sample: Sample) -> dict[str, Completion]:
        golds: dict[str, Completion] = {}
        for key, scorer in self._task.scorers.items():
            if isinstance(scorer, KnowsGold):
                try:
                    gold = scorer.gold(sample)
                except FailureError as error:
                    self._add_failure("scorer_failed", error.failure, sample)
                    continue
                if gold is not None:
                    golds[key] = gold
        return golds

    async def _solve(self, sample: Sample, answer: Completion) -> _Tried | None:
        """What the solver makes of an answer; None when it cannot ask."""
        solver, script = self._task.definition.solver, self._script
        endings = _endings(solver.options)
        script.asked.clear()
        trace: Trace | None = None
        for ending in ("", "\n".join(endings)) if endings else ("",):
            # a conversation is gone through twice: to its maximum, and to its first ending
            text = f"{answer.text}\n{ending}" if ending else answer.text
            script.answer = msgspec.structs.replace(answer, text=text)
            script.others_say = said(ending or "a message")
            try:
                trace = await self._task.solver(sample, script.measured)
            except BaseException as error:
                failure = failure_of(raise_unless_part_error(error), "solver", solver.use)
                if solver.use == "multi_turn_solver" and failure.kind in ("max_iterations", "bad_output"):
                    continue  # as the model may have it
                self._add_failure("cannot_be_asked", failure, sample, own=self._is_own_fault(failure))
                return None
        if trace is None:
            trace = Trace(prediction=answer.text, messages=script.asked[-1].messages if script.asked else None)
        if not script.asked:
            return _Tried(trace, None)
        if solver.use == "multi_turn_solver":
            trace = msgspec.structs.replace(trace, prediction=answer.text)
        return _Tried(trace, answer)

    def _is_own_fault(self, failure: Failure) -> bool:
        """Not for what the author's Python raised about an answer that no model gave."""
        if failure.kind not in ("exception", "bad_output") or not self._script.asked:
            return True
        return any(bug in failure.message for bug in _BUGS)

    async def _score(
        self, sample: Sample, tried: _Tried, golds: Mapping[str, Completion], *, first: bool
    ) -> list[Score]:
        scores: list[Score] = []
        judged: dict[str, list[Request]] = {}
        whole = True
        for scorer in self._task.scorers_for(sample):
            key = scorer.name
            if _asks_elsewhere(self._parts[key], scorer):
                self._add("not_tried", f"scorers.{key}", None, "a service outside this machine scores it", error=False)
                whole = False
                continue
            if isinstance(scorer, Judged):
                score = await self._hear(sample, tried.trace, scorer, every=first and self._tried == 1)
                judged[key] = list(self._script.others_asked)
            else:
                score = await self._look(sample, tried.trace, scorer)
            if score is None:
                whole = False
                continue
            scores.append(score)
            self._compare(sample, tried, score, golds.get(key))
        if first:
            for score in scores:
                self._scores[score.name].append(score)
        if whole:
            for failure in apply_rules(self._task, sample, tried.trace, tuple(scores))[1]:
                self._add_failure("rule_failed", failure, sample)
        if self._heard is None:
            self._heard = Heard(
                sample=sample.id,
                requests=list(self._script.asked),
                answer=tried.trace.prediction,
                judged=judged,
                scores=scores,
            )
        return scores

    async def _look(self, sample: Sample, trace: Trace, scorer: Scorer) -> Score | None:
        try:
            return await scorer(sample, trace)
        except BaseException as error:
            failure = failure_of(raise_unless_part_error(error), "scorer", scorer.name)
            self._add_failure("scorer_failed", failure, sample, own=self._is_own_fault(failure))
            return None

    async def _hear(self, sample: Sample, trace: Trace, scorer: Scorer, *, every: bool) -> Score | None:
        """The score of a scripted verdict; of one sample, every kind of verdict is tried."""
        assert isinstance(scorer, Judged)  # noqa: S101 - its caller has looked
        score: Score | None = None
        for verdict in scorer.verdicts() if every else scorer.verdicts()[:1]:
            self._script.others_asked.clear()
            self._script.others_say = verdict.says
            try:
                given = await scorer(sample, trace)
            except BaseException as error:
                failure = failure_of(raise_unless_part_error(error), "scorer", scorer.name)
                if verdict.gives is not None:
                    self._add_failure("scorer_failed", failure, sample)
                    return None
                continue
            wrong = verdict.gives is None or any(given.values.get(name) != it for name, it in verdict.gives.items())
            if wrong:
                message = f"a judge that says {self._said()} gives {_shown(given)}, expected {_expected(verdict.gives)}"
                self._add("verdict_misread", f"scorers.{scorer.name}", sample, message)
            score = score or given
        return score

    def _said(self) -> str:
        return repr(shortened(self._script.others_say(self._script.others_asked[-1])))

    def _compare(self, sample: Sample, tried: _Tried, score: Score, gold: Completion | None) -> None:
        """Full marks for the gold answer, none for the empty one."""
        marks = _marks(score)
        part = self._parts[score.name]
        if tried.answer is None or not marks:
            return
        field = f"scorers.{score.name}"
        as_it_is = self._task.definition.solver.use != "python"
        if gold is not None and tried.answer == gold and not all(_is_full(mark) for mark in marks):
            message = f"the gold answer {shortened(gold.text)!r} gets {_shown(score)}"
            self._add("gold_not_full_marks", field, sample, message, error=as_it_is)
        judged = isinstance(self._task.scorers[score.name], Judged)
        empty = tried.answer == EMPTY_ANSWER and gold != EMPTY_ANSWER and not judged and not _rewards_silence(part)
        if empty and any(isinstance(mark, int | float) and mark > 0 for mark in marks):
            message = f"the empty answer gets {_shown(score)}"
            self._add("empty_answer_scores", field, sample, message, error=as_it_is and part.use != "python")

    async def aggregates(self) -> None:
        """That aggregates read values which were given, and the author's own return numbers."""
        for part in self._task.definition.aggregates:
            scorer = str(part.options.get("scorer", ""))
            scores = self._scores.get(scorer)
            if not scores:
                continue
            given = dict.fromkeys(name for score in scores for name in score.values)
            field = f"scorers.{scorer}.metrics.{part.key.removeprefix(f'{scorer}.')}"
            for option in FIELDS_READ:
                name = part.options.get(option)
                if isinstance(name, str) and name not in given:
                    message = f"no sample has a value `{name}`. {hint(name, sorted(given), 'Given')}"
                    self._add("metric_reads_nothing", f"{field}.{option}", None, message)
            if source := part.options.get("compute_metrics_snippet"):
                snippet = metric_snippet(str(source), part.key)
                plain = [{"values": dict(score.values), "metadata": score.metadata or {}} for score in scores]
                try:
                    values = await metric_values(snippet, plain)
                finally:
                    await snippet.aclose()
                if "error" in values:
                    self._add("metric_failed", f"{field}.compute_metrics_snippet", None, values["error"])

    def _add_failure(self, problem: str, failure: Failure, sample: Sample, *, own: bool = True) -> None:
        """`own` is false where the made-up answer may be to blame, and not the task."""
        field = failure.field or self._field_of(failure)
        message = failure.message.rpartition(f"sample `{sample.id}`: ")[2]
        if not own:
            message += f"; the model's answer was made up: {shortened(self._script.answer.text)!r}"
        self._add(problem, field, sample, message, error=own)

    def _field_of(self, failure: Failure) -> str:
        if failure.stage in ("solver", "model", "prompt"):
            return f"definition.solver{_snippet_of(self._task.definition.solver)}"
        part = self._parts.get(failure.part)
        return f"scorers.{failure.part}{_snippet_of(part) if part is not None else ''}"

    def _add(self, problem: str, field: str, sample: Sample | None, message: str, *, error: bool = True) -> None:
        key = (problem, field, message)
        known = self._faults.get(key)
        name = sample.id if sample is not None else ""
        names = self._samples_at_fault.setdefault(key, set())
        names.add(name)  # a sample is gone through with several answers and verdicts
        if known is None:
            self._faults[key] = Fault(problem=problem, field=field, sample=name, message=message, error=error)
        elif sample is not None:
            self._faults[key] = msgspec.structs.replace(known, samples=len(names))


def _hashable(answers: Any) -> bool:
    return all(answer.tool_calls is None for answer in answers)


def _snippet_of(part: PartSpec) -> str:
    return next((f".{name}" for name in _SNIPPETS if part.options.get(name)), "")


def _endings(options: Any) -> list[str]:
    """Every text that ends a loop or a conversation."""
    if isinstance(options, Mapping):
        ending = options.get("terminate_if")
        own = [str(ending["includes"])] if isinstance(ending, Mapping) else []
        return own + [each for value in options.values() for each in _endings(value)]
    return [each for value in options for each in _endings(value)] if isinstance(options, list | tuple) else []


def _asks_elsewhere(part: PartSpec, scorer: Scorer) -> bool:
    """Whether its scores come from a server, or from a judge of which nobody knows what it may say."""
    if isinstance(scorer, Judged):
        return False
    return any(part.options.get(name) for name in ("url", "model_key", "judge_model_key"))


def _rewards_silence(part: PartSpec) -> bool:
    """Whether an answer may rightly score for what it does not say."""
    return part.use == "assertions" or part.options.get("metric") == "forbidden_patterns"


def _marks(score: Score) -> list[object]:
    return [score.values[name] for name in MARKS if name in score.values]


def _is_full(mark: object) -> bool:
    return isinstance(mark, int | float) and mark >= 1 - 1e-9


def _shown(score: Score) -> str:
    values = ", ".join(f"{name} {value}" for name, value in score.values.items())
    return values + (f" ({score.reason})" if score.reason else "")


def _expected(gives: Mapping[str, Any] | None) -> str:
    return "a failure" if gives is None else ", ".join(f"{name} {value}" for name, value in gives.items())
