"""A task rehearsed without a model: every template rendered on real rows, every scorer and rule tried.

A script stands for the evaluated model and for all others. The evaluated model gives each scorer's gold answer, then
the empty one; a judge gives one verdict of each kind. What breaks on the way would break a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from assay.checking.findings import Finding, SampleRehearsal, TaskCheck
from assay.checking.reference_model import SOME_ANSWER, Script
from assay.core.attempt import apply_rules, failure_of, raise_unless_part_error
from assay.core.describe import ScorerInfo
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Scorer
from assay.core.task import Task
from assay.core.types import Completion, Failure, Message, PartSpec, Request, Sample, Score, Trace
from assay.formats.declarative.schema.metrics import fields_read
from assay.prompts.template import expression_reads, template_reads
from assay.scorers.judging.judge import constant_reply
from assay.scorers.judging.rehearsed import Judged, KnowsGold, is_full, marks_of
from assay.stats.metric_snippet import metric_snippet, metric_values
from assay.text.wording import hint, shortened

MOST_SAMPLES = 1000
"""How many samples of a larger dataset are tried, spread from first to last."""
EMPTY_ANSWER = Completion(text="")
Golds = Mapping[str, Completion]
"""The answer that must get full marks, by the key of the scorer."""
EXPECTED_COLUMNS = (
    *("target", "ground_truth", "gt_answer", "expected", "expected_answer", "expected_output", "reference"),
    *("gold", "answer", "solution", "canonical_solution", "label"),
)
"""Names of columns with the right answer, tried where no scorer names one."""
_PROMPTS = ("user_prompt", "system_prompt")
"""What a judge is shown, where its prompt is the author's; one of ours shows the option `answer`."""
_GOLDS = ("ground_truth", "ground_truths", "ground_truth_choice")
_SNIPPETS = ("run_solver_snippet", "compute_scores_snippet", "compute_evidence_snippet", "compute_metrics_snippet")
_BUGS = (
    *("NameError", "KeyError", "AttributeError", "TypeError", "ImportError", "ModuleNotFoundError"),
    *("could not be loaded", "must return"),
)
"""What a snippet raises for its own faults, whatever the model answers."""
_MISSING = re.compile(r"(?:unknown field (?:of `sample` )?`|KeyError: ')([^`']*)")
"""How templates and snippets report a missing column."""


async def rehearse(task: Task, script: Script, bad_tests: Set[tuple[str, str]] = frozenset()) -> TaskCheck:
    """Rehearse the samples of a task, or a stated number from a large dataset.

    `bad_tests` are the samples and scorers whose tests have been reported already.
    """
    rehearsing = _Rehearsing(task, script, bad_tests)
    for sample in _spread(task):
        await rehearsing.sample(sample)
    await rehearsing.aggregates()
    rehearsing.rules()
    rehearsing.judges()
    rehearsing.prompts()
    return rehearsing.result()


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
    made_up: bool = False
    """Whether the trace is made up because no request could be built: only what the sample itself lacks is known."""


class _Rehearsing:
    def __init__(self, task: Task, script: Script, bad_tests: Set[tuple[str, str]]) -> None:
        self._task = task
        self._bad_tests = bad_tests
        self._script = script
        script.custom = task.definition.plan.for_models == ("custom",)
        self._parts = {part.key: part for part in task.definition.scorers}
        self._findings: dict[tuple[str, str, str], Finding] = {}
        self._samples_at_fault: dict[tuple[str, str, str], set[str]] = {}
        self._tried = self._gold_tried = 0
        self._without_gold: dict[str, int] = {}
        self._seen: dict[str, str] = {}
        self._scores: dict[str, list[Score]] = {key: [] for key in self._parts}
        self._first_sample: SampleRehearsal | None = None
        self._hangs: set[str] = set()
        """Scorers, and the solver, that ran out of time once: every sample would take as long."""
        self._asked: set[str] = set()
        """Different requests, one for each sample at most."""
        self._left_out: dict[str, str] = {}
        """Samples that a rule excludes whatever is answered, each with the rule's key."""

    def result(self) -> TaskCheck:
        return TaskCheck(
            task=self._task.name,
            gold_checked=self._gold_tried,
            findings=sorted(self._findings.values(), key=lambda finding: not finding.error),
            without_gold=self._without_gold,
            tried_instead={key: self._seen[key] for key in self._without_gold if key in self._seen},
            tried=self._tried,
            first_sample=self._first_sample,
        )

    async def sample(self, sample: Sample) -> None:
        self._tried += 1
        golds = self._golds(sample)
        column = None if golds else _expected_column(sample)
        if column is not None:
            golds[""] = Completion(text=str((sample.row or {})[column]))  # not a scorer's gold answer, but worth a try
        answers: list[Completion] = []
        for gold in golds.values():
            answers += [] if gold in answers else [gold]
        seen = set(golds)
        for number, answer in enumerate([*(answers or [SOME_ANSWER]), EMPTY_ANSWER]):
            tried = await self._solve(sample, answer)
            if tried is None:
                trace = Trace(prediction=answer.text, messages=(Message(role="user", content=""),))
                await self._score(sample, _Tried(trace, None, made_up=True), {}, first=True)
                return
            scores = await self._score(sample, tried, golds, first=number == 0)
            if tried.answer is None:
                return  # it is fixed, whatever a model would say
            self._gold_tried += number == 0 and any(golds)
            if number == 0:
                self._note(sample, answer, scores, golds, column)
                self._remark_nulls(sample)
                self._remark_prompt(sample)
            if answer in answers:
                seen |= {score.name for score in scores if marks_of(score) and all(map(is_full, marks_of(score)))}
        if all(request.continuation is not None for request in self._script.requests):
            return  # likelihoods are asked for, and no answer
        for scorer in self._task.scorers_for(sample):
            if scorer.name not in seen and not isinstance(scorer, Judged):
                self._without_gold[scorer.name] = self._without_gold.get(scorer.name, 0) + 1

    def _note(self, sample: Sample, answer: Completion, scores: list[Score], golds: Golds, column: str | None) -> None:
        """The result for this answer of scorers without a gold answer of their own."""
        of = f"the column `{column}`" if column else "the answer of another scorer" if golds else "a made-up answer"
        for score in scores:
            if score.name not in golds:
                text = f"{of}, {shortened(answer.text)!r}, gets {_shown(score) or 'no values'} on sample `{sample.id}`"
                self._seen.setdefault(score.name, text)

    def _remark_nulls(self, sample: Sample) -> None:
        """Warnings for what is valid but seldom intended: `None` in a prompt for a missing value."""
        if any("None" in request.text() for request in self._script.requests):
            for name in self._columns_printed:
                if (sample.row or {}).get(name, "") is None:
                    message = f"the column `{name}` is null, so the prompt contains the text `None`"
                    self._add("null_in_prompt", "definition.solver", sample, message, error=False)

    def _remark_prompt(self, sample: Sample) -> None:
        """Warnings for prompts that give the answer away, and for an object that is no conversation."""
        if not self._script.requests:
            return
        request, row = self._script.requests[0], sample.row or {}
        self._asked.add(request.text())
        for name in self._columns_expected:
            value = row.get(name)
            if name in self._columns_printed and isinstance(value, str | int | float) and str(value) in request.text():
                message = f"the prompt prints the column `{name}`, which is what the answer is compared with"
                self._add("gold_in_prompt", "definition.solver", sample, message, error=False)
        is_chat = _is_generic(self._task.definition.solver) and not self._script.custom
        if (names := _names_of_object(request)) and is_chat:
            why = f"the input has no `messages`, so it is sent as the text of its JSON. {hint('messages', names)}"
            self._add("no_messages", "definition.solver.input_builder.template", sample, why)

    def prompts(self) -> None:
        """A warning where different rows lead to one and the same prompt."""
        if self._tried > 1 and len(self._asked) == 1 and not self._columns_printed:
            message = f"no column is read by the prompt: all {self._tried} samples get the same prompt"
            self._add("same_prompt", "definition.solver", None, message, error=False)

    @cached_property
    def _columns_printed(self) -> list[str]:
        """The columns that the solver's templates print; those for few-shot examples print other rows."""
        options = self._task.definition.solver.options
        return _columns_in({name: value for name, value in options.items() if name != "few_shot"})

    @cached_property
    def _columns_expected(self) -> list[str]:
        """The columns whose text an answer is compared with."""
        parts = self._parts.values()
        return _columns_in([part.options[name] for part in parts for name in _GOLDS if name in part.options])

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
        """The solver's trace with a given answer; None when it cannot ask."""
        solver, script = self._task.definition.solver, self._script
        if "solver" in self._hangs:
            return None
        endings = _endings(solver.options)
        script.requests.clear()
        trace: Trace | None = None
        for ending in ("", "\n".join(endings)) if endings else ("",):
            # a conversation is rehearsed twice: to its maximum, and to its first ending
            text = f"{answer.text}\n{ending}" if ending else answer.text
            script.answer = msgspec.structs.replace(answer, text=text)
            script.others_say = constant_reply(ending or "a message")
            try:
                trace = await (self._task.solve or self._task.solver)(sample, script.evaluated)
            except BaseException as error:
                failure = failure_of(raise_unless_part_error(error), "solver", solver.use)
                if self._task.needs.turns == "many" and failure.kind in ("max_iterations", "bad_output"):
                    continue  # as the model may have it
                self._hangs |= {"solver"} if failure.kind == "timeout" else set()
                self._add_failure("no_request", failure, sample, own=self._is_own_fault(failure))
                return None
        if trace is None:
            trace = Trace(prediction=answer.text, messages=script.requests[-1].messages if script.requests else None)
        if not script.requests:
            return _Tried(trace, None)
        if self._task.needs.turns == "many":
            trace = msgspec.structs.replace(trace, prediction=answer.text)
        return _Tried(trace, answer)

    def _is_own_fault(self, failure: Failure) -> bool:
        """Not for what the author's Python raised about an answer that no model gave, or for one that is not JSON."""
        if failure.kind == "template" and (failure.field or "").endswith(".value"):
            return "JSONDecodeError" not in failure.message
        if failure.kind not in ("exception", "bad_output") or not self._script.requests:
            return True
        return any(bug in failure.message for bug in _BUGS)

    async def _score(self, sample: Sample, tried: _Tried, golds: Golds, *, first: bool) -> list[Score]:
        scores: list[Score] = []
        judged: dict[str, list[Request]] = {}
        whole = True
        for scorer in self._task.scorers_for(sample):
            key = scorer.name
            if key in self._hangs:
                whole = False
                continue
            if _asks_elsewhere(self._parts[key], scorer):
                self._add("not_tried", f"scorers.{key}", None, "a service outside this machine scores it", error=False)
                whole = False
                continue
            if isinstance(scorer, Judged):
                score = await self._judge(sample, tried, scorer, every=first and self._tried == 1)
                judged[key] = list(self._script.other_requests)
            else:
                score = await self._score_one(sample, tried, scorer)
            if score is None:
                whole = False
                continue
            scores.append(score)
            self._compare(sample, tried, score, golds.get(key))
        if first:
            for score in scores:
                self._scores[score.name].append(score)
        excluding, broken = apply_rules(self._task, sample, tried.trace, tuple(scores))
        self._left_out.update((sample.id, key) for key in excluding if key in self._rules_of_rows)
        for failure in broken:
            if (whole and not tried.made_up) or _lacks_column(failure, sample):
                self._add_failure("rule_failed", failure, sample)
        if self._first_sample is None and not tried.made_up:
            self._first_sample = SampleRehearsal(
                sample=sample.id,
                requests=list(self._script.requests),
                answer=tried.trace.prediction,
                judged=judged,
                scores=scores,
            )
        return scores

    async def _score_one(self, sample: Sample, tried: _Tried, scorer: Scorer) -> Score | None:
        try:
            return await scorer(sample, tried.trace)
        except BaseException as error:
            failure = failure_of(raise_unless_part_error(error), "scorer", scorer.name)
            self._hangs |= {scorer.name} if failure.kind == "timeout" else set()
            named = (sample.id, scorer.name) in self._bad_tests
            if not named and (not tried.made_up or _lacks_column(failure, sample)):
                self._add_failure("scorer_failed", failure, sample, own=self._is_own_fault(failure))
            return None

    async def _judge(self, sample: Sample, tried: _Tried, scorer: Scorer, *, every: bool) -> Score | None:
        """The score of a scripted verdict; of one sample, every kind of verdict is tried."""
        assert isinstance(scorer, Judged)  # noqa: S101 - its caller has looked
        score: Score | None = None
        for verdict in scorer.verdicts() if every else scorer.verdicts()[:1]:
            self._script.other_requests.clear()
            self._script.others_say = verdict.says
            try:
                given = await scorer(sample, tried.trace)
            except BaseException as error:
                failure = failure_of(raise_unless_part_error(error), "scorer", scorer.name)
                if verdict.gives is None:
                    continue
                if not tried.made_up or _lacks_column(failure, sample):
                    self._add_failure("scorer_failed", failure, sample)
                return None
            if verdict.gives is None or any(given.values.get(name) != it for name, it in verdict.gives.items()):
                reply = shortened(verdict.says(self._script.other_requests[-1]))
                message = f"a judge that says {reply!r} gives {_shown(given)}, expected {_expected(verdict.gives)}"
                self._add("verdict_misread", f"scorers.{scorer.name}", sample, message)
            score = score or given
        return score

    def _compare(self, sample: Sample, tried: _Tried, score: Score, gold: Completion | None) -> None:
        """Full marks for the gold answer, none for the empty one."""
        marks = marks_of(score)
        part = self._parts[score.name]
        if tried.answer is None or not marks:
            return
        field = f"scorers.{score.name}"
        as_it_is = self._task.needs.runs == "here"
        if gold is not None and tried.answer == gold and not all(is_full(mark) for mark in marks):
            message = f"the gold answer {shortened(gold.text)!r} gets {_shown(score)}"
            self._add("gold_not_full_marks", field, sample, message, error=as_it_is)
        judged = isinstance(self._task.scorers[score.name], Judged)
        empty = tried.answer == EMPTY_ANSWER and gold != EMPTY_ANSWER and not judged and not _rewards_silence(part)
        if empty and any(isinstance(mark, int | float) and mark > 0 for mark in marks):
            message = f"the empty answer gets {_shown(score)}"
            self._add("empty_answer_scores", field, sample, message, error=as_it_is and not _is_snippet(part))

    async def aggregates(self) -> None:
        """That aggregates read values which were given, and the author's own return numbers."""
        for part in self._task.definition.aggregates:
            scorer = str(part.options.get("scorer", ""))
            scores = self._scores.get(scorer)
            if not scores:
                continue
            given = dict.fromkeys(name for score in scores for name in score.values)
            field = f"scorers.{scorer}.metrics.{part.key.removeprefix(f'{scorer}.')}"
            for option in fields_read(part.use):
                name = part.options.get(option)
                if isinstance(name, str) and name not in given:
                    message = f"no sample has a value `{name}`. {hint(name, sorted(given), 'Given')}"
                    self._add("metric_reads_nothing", f"{field}.{option}", None, message)
            if source := part.options.get("compute_metrics_snippet"):
                snippet = metric_snippet(str(source), part.key, self._task.definition.modules)
                plain = [{"values": dict(score.values), "metadata": score.metadata or {}} for score in scores]
                try:
                    values = await metric_values(snippet, plain)
                finally:
                    await snippet.aclose()
                if "error" in values:
                    self._add("metric_failed", f"{field}.compute_metrics_snippet", None, values["error"])

    def rules(self) -> None:
        """That rules leave something to measure."""
        if self._left_out and len(self._left_out) == self._tried:
            every = self._tried == len(self._task.dataset)
            which = "every sample is excluded" if every else f"each of the {self._tried:,} samples tried is excluded"
            field = f"actions.{next(iter(self._left_out.values()))}.filter"
            self._add("nothing_left", field, None, f"{which}: no sample would be scored", error=every)

    def judges(self) -> None:
        """That judges of answers are shown the answers."""
        scorers = self._task.definition.scorers
        judges = [part for part in scorers if isinstance(part.about, ScorerInfo) and part.about.judges_answers]
        for part in judges if self._task.needs.answers else ():
            shown = ("answer",) if isinstance(part.about, ScorerInfo) and part.about.prompt else _PROMPTS
            prompts = [str(part.options.get(name) or "") for name in shown]
            with suppress(UsageError):  # of templates, reported where they are rendered
                if {path[0] for text in prompts for path in template_reads(text).paths} <= {"sample"}:
                    message = "the judge is shown nothing of the answer; `{{ solver_output.output }}` is its text"
                    self._add("answer_not_shown", f"scorers.{part.key}.user_prompt", None, message, error=False)

    @cached_property
    def _rules_of_rows(self) -> set[str]:
        """The rules that read nothing but the row."""
        keys = set()
        for part in self._task.definition.actions:
            rule = part.options.get("filter")
            source = str(rule["expression"]) if isinstance(rule, Mapping) else ""
            if {path[0] for path in expression_reads(source).paths} == {"sample"}:
                keys.add(part.key)
        return keys

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
        known = self._findings.get(key)
        name = sample.id if sample is not None else ""
        names = self._samples_at_fault.setdefault(key, set())
        names.add(name)  # a sample is rehearsed with several answers and verdicts
        if known is None:
            self._findings[key] = Finding(
                task=self._task.name, sample=name, problem=problem, detail=message, error=error, field=field
            )
        elif sample is not None:
            self._findings[key] = msgspec.structs.replace(known, samples=len(names))


def _columns_in(options: object) -> list[str]:
    """The columns that templates print."""
    columns: dict[str, None] = {}
    for text in _texts_in(options):
        with suppress(UsageError):  # of templates, reported where they are rendered
            columns |= {path[1]: None for path in template_reads(text).paths if path[0] == "sample" and path[1:]}
    return list(columns)


def _is_generic(solver: PartSpec) -> bool:
    builder = solver.options.get("input_builder")
    return isinstance(builder, Mapping) and builder.get("type") == "generic"


def _names_of_object(request: Request) -> list[str]:
    """The names of the JSON object that a request sends as a text; none where it sends anything else."""
    try:
        value = msgspec.json.decode(request.prompt or "") if request.messages is None else None
    except msgspec.DecodeError:
        return []
    return list(value) if isinstance(value, dict) else []


def _texts_in(options: object) -> Iterator[str]:
    if isinstance(options, str) and "{{" in options:
        yield options
    elif isinstance(options, Mapping | list | tuple):
        for option in options.values() if isinstance(options, Mapping) else options:
            yield from _texts_in(option)


def _expected_column(sample: Sample) -> str | None:
    """The column that most likely holds the right answer, by its name."""
    row = sample.row or {}
    holds = (name for name in EXPECTED_COLUMNS if isinstance(row.get(name), str | int | float) and row[name] != "")
    return next(holds, None)


def _lacks_column(failure: Failure, sample: Sample) -> bool:
    """Whether something reads a column that the sample does not have, whatever a model would say."""
    missing = _MISSING.search(failure.message)
    return missing is not None and sample.row is not None and missing[1] not in sample.row


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
    """Whether its scores come from a server, or from a judge whose possible verdicts are not known."""
    if isinstance(scorer, Judged):
        return False
    return any(part.options.get(name) for name in ("url", "model_key", "judge_model_key"))


def _rewards_silence(part: PartSpec) -> bool:
    """Whether an answer may rightly score for what it does not say."""
    return isinstance(part.about, ScorerInfo) and part.about.empty_may_score


def _is_snippet(part: PartSpec) -> bool:
    """Whether the author's own Python decides what an empty answer is worth."""
    return isinstance(part.about, ScorerInfo) and part.about.runs == "snippet"


def _shown(score: Score) -> str:
    values = ", ".join(f"{name} {value}" for name, value in score.values.items())
    return values + (f" ({score.reason})" if score.reason else "")


def _expected(gives: Mapping[str, Any] | None) -> str:
    return "a failure" if gives is None else ", ".join(f"{name} {value}" for name, value in gives.items())
