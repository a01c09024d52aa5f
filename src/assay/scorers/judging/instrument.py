"""The mechanism of the judged metrics in `instruments.py`: what one is, how it asks its judge, what becomes of a reply.

An instrument is data: a prompt file with a version, the inputs that it shows, the JSON that it asks for, and what that
JSON is worth. Its factory has one option for each input, so files, editors, help and reference follow from it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from assay.core.describe import DefaultAggregate, ScorerInfo, Value, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Failure, Message, Sample, Score, ScoreValue, Trace
from assay.core.usage import about_tokens
from assay.evaluators.usable_answers import UnusableError, json_object
from assay.part_options import ANSWER, Doc, TemplateOption, part
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Expression, Template
from assay.scorers.expected import judge_columns, unseen_columns
from assay.scorers.judging.judge import NO_VERDICT, JudgeKey, SchemaJudge, constant_reply, judge_model, usage
from assay.scorers.judging.rag_checker import passages, references
from assay.scorers.judging.rehearsed import Verdict
from assay.scorers.judging.variables import scorer_field, scorer_variables

Given = Mapping[str, Any]
"""The inputs for one sample, rendered, and the plain options."""
Answer = Mapping[str, Any]
"""The JSON object of a judge, checked."""
THE_ANSWER = "{{ solver_output.output }}"
PASSAGES = "passages"
"""The input that is a list of texts."""


class Input(NamedTuple):
    """An option of an instrument: a template that is shown to the judge, or plain data."""

    name: str
    doc: str
    default: Any = inspect.Parameter.empty
    type: Any = str
    """Of plain data: anything but `str`."""

    @property
    def is_template(self) -> bool:
        return self.type is str

    @property
    def annotation(self) -> Any:
        marker = TemplateOption(self.doc, ANSWER) if self.is_template else Doc(self.doc)
        kind = self.type | None if self.default is None else self.type
        return Annotated[kind, marker]


class Judgement(NamedTuple):
    """What the answers of the judge are worth."""

    values: Mapping[str, ScoreValue]
    reason: str | None = None
    details: Mapping[str, Any] = {}


class MadeUpReply(NamedTuple):
    """An answer that the judge may give, for rehearsals, and some values that it leads to."""

    says: Answer | Callable[[str], Answer]
    """Or what is said to a prompt."""
    gives: Mapping[str, ScoreValue]


def _once(given: Given) -> list[Given]:
    return [given]


def _always_asks(given: Given) -> Judgement | None:
    return None


def _no_problems(options: Mapping[str, Any]) -> list[str]:
    return []


class Instrument(NamedTuple):
    """A judged metric."""

    name: str
    version: int
    """Of its prompt; those before can still be chosen."""
    doc: str
    """One sentence."""
    about: str
    """What it measures, when it misleads, how it fails, what it costs: the text of its help and reference."""
    inputs: tuple[Input, ...]
    properties: Callable[[Mapping[str, Any]], dict[str, Any]]
    """The JSON Schema of each field of the answer, as the options have it."""
    check: Callable[[Answer, Given], Answer]
    """The answer, if it is one; raises `UnusableError` with what is wrong."""
    result: Callable[[Sequence[Answer], Given], Judgement]
    replies: Callable[[Mapping[str, Any]], list[MadeUpReply]]
    values: tuple[Value, ...]
    verdict: str
    """The value that people who label answers give too."""
    aggregates: tuple[DefaultAggregate, ...]
    example: str
    rounds: Callable[[Given], list[Given]] = _once
    """What each call shows."""
    without_asking: Callable[[Given], Judgement | None] = _always_asks
    """The result of a sample that leaves the judge nothing to decide."""
    problems: Callable[[Mapping[str, Any]], list[str]] = _no_problems
    calls: str = "1 call"

    @property
    def info(self) -> ScorerInfo:
        return ScorerInfo(
            values=self.values,
            aggregates=self.aggregates,
            judges_answers=True,
            verdict=self.verdict,
            calls=self.calls,
            prompt=f"{self.name}.v{self.version}",
        )

    def factory(self) -> Callable[..., JudgedMetric]:
        """What the catalog has: builds the scorer from its options."""

        def build(key: str, **options: Any) -> JudgedMetric:
            return JudgedMetric(key, self, options)

        parameters = [
            *((each.name, each.annotation, each.default) for each in self.inputs),
            ("model_key", JudgeKey, inspect.Parameter.empty),
            (
                "prompt_version",
                Annotated[int, Doc("The version of its prompt, part of what it measures.")],
                self.version,
            ),
            ("has_solver", bool, True),
            ("model", Mapping[str, Any] | None, None),
            ("context", BuildContext, NO_CONTEXT),
        ]
        kind = inspect.Parameter.KEYWORD_ONLY
        signature = [
            inspect.Parameter("key", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str),
            *(inspect.Parameter(name, kind, annotation=hint, default=default) for name, hint, default in parameters),
        ]
        build.__name__ = build.__qualname__ = self.name
        build.__doc__ = f"{self.doc}\n\n{self.about}"
        build.__annotations__ = {"key": str, **{name: hint for name, hint, _ in parameters}}
        vars(build)["__signature__"] = inspect.Signature(signature)
        said = part(
            self.doc, example=self.example, check=lambda options: [((), text) for text in self.problems(options)]
        )
        return describes(self.info)(said(build))


class JudgedMetric:
    """A scorer that is an instrument with its options."""

    def __init__(self, key: str, instrument: Instrument, options: Mapping[str, Any]) -> None:
        self.name = key
        self._instrument = instrument
        given = {each.name: options.get(each.name, each.default) for each in instrument.inputs}
        context: BuildContext = options.get("context", NO_CONTEXT)
        self._has_solver = bool(options.get("has_solver", True))
        self._refuse(given)
        self._plain = {each.name: given[each.name] for each in instrument.inputs if not each.is_template}
        self._sources = {
            name: str(text) for name, text in given.items() if name not in self._plain and text is not None
        }
        self._fields = {
            name: scorer_field(key, name, text, context) for name, text in self._sources.items() if name != PASSAGES
        }
        self._passages = Expression(self._sources[PASSAGES]) if PASSAGES in self._sources else None
        self._prompt = prompt_of(instrument.name, int(options.get("prompt_version", instrument.version)))
        self._properties = instrument.properties(given)
        schema = {
            "type": "object",
            "properties": self._properties,
            "required": list(self._properties),
            "additionalProperties": False,
        }
        self._model = judge_model(options["model_key"], options.get("model"), context)
        self._judge = SchemaJudge(self._model, key, schema, context.judge_retries)

    def _refuse(self, given: Mapping[str, Any]) -> None:
        if problems := self._instrument.problems(given):
            raise UsageError(f"scorer `{self.name}`: {problems[0]}")
        if not self._has_solver and (reads := [name for name, text in given.items() if text == THE_ANSWER]):
            raise UsageError(
                f"scorer `{self.name}`: a task without a solver has no answer; say with `{reads[0]}` what is judged, "
                'such as "{{ sample.answer }}"'
            )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        given = self._given(sample, trace)
        result = self._instrument.without_asking(given)
        if result is not None:
            return Score(name=self.name, values=dict(result.values), reason=result.reason)
        answers: list[Answer] = []
        completions: list[Completion] = []
        messages: tuple[Message, ...] = ()
        for shown in self._instrument.rounds(given):
            messages = self._prompt.messages(shown)
            said, answer = await self._judge.ask(messages, lambda completion: self._read(completion, given), sample)
            completions += said
            answers.append(answer)
        result = self._instrument.result(answers, given)
        return Score(
            name=self.name,
            values=dict(result.values),
            reason=result.reason,
            metadata={**result.details, **self._expected(sample, trace), "judge": self._record(messages, completions)},
        )

    def verdicts(self) -> list[Verdict]:
        """An answer of each kind, and one that is none."""
        replies = self._instrument.replies(self._plain)
        return [*(Verdict(_said(reply.says), reply.gives) for reply in replies), NO_VERDICT]

    def _given(self, sample: Sample, trace: Trace) -> dict[str, Any]:
        variables = scorer_variables(sample, trace, has_solver=self._has_solver)
        given = {each.name: "" for each in self._instrument.inputs} | self._plain
        given |= {name: field.render(variables, sample) for name, field in self._fields.items()}
        if any(each.name == PASSAGES for each in self._instrument.inputs):
            given[PASSAGES] = self._passages_for(sample, trace, variables)
        return given

    def _passages_for(self, sample: Sample, trace: Trace, variables: Mapping[str, Any]) -> list[str]:
        found: Any = None
        if self._passages is None:
            if (found := references(trace)) is None:
                raise self._bad_input(
                    'the answer came without `references`; name the passages with `passages: "{{ sample.COLUMN }}"`, '
                    "or let the server's references be kept with --model-arg keep_raw=true",
                    sample,
                )
        else:
            try:
                found = self._passages.evaluate(variables)
            except RenderError as error:
                raise self._bad_input(f"`{PASSAGES}`: {error}", sample) from error
        if found is None:
            raise self._bad_input(f"`{PASSAGES}` is null; a sample without any has an empty list", sample)
        return passages(found)

    def _read(self, completion: Completion, given: Given) -> Answer:
        answer = json_object(completion.text, list(self._properties))
        if answer is None:
            raise UnusableError(f"no JSON object with {' and '.join(f'`{name}`' for name in self._properties)}")
        return self._instrument.check(answer, given)

    def _record(self, messages: Sequence[Message], completions: Sequence[Completion]) -> dict[str, Any]:
        """What a reader needs to review the judge: which prompt, what it showed and what was said."""
        prompt = [{"role": each.role, "content": each.content} for each in messages]
        used = usage(self._model, *completions)
        return {**used, "instrument": self._prompt.name, "prompt": prompt, "said": completions[-1].text}

    def _expected(self, sample: Sample, trace: Trace) -> dict[str, Any]:
        named = judge_columns({"user_prompt": " ".join(self._sources.values())})
        prompt = trace.prompt or "\n".join(
            str(each.content) for each in trace.messages or () if each.role != "assistant"
        )
        unseen = unseen_columns(sample.row or {}, named, f"{prompt}\n{trace.prediction}")
        return {"expected": unseen} if unseen else {}

    def _bad_input(self, message: str, sample: Sample) -> FailureError:
        return FailureError(
            Failure(stage="scorer", part=self.name, kind="bad_input", message=f"sample `{sample.id}`: {message}")
        )


class PromptVersion(NamedTuple):
    """One version of the prompt of an instrument."""

    name: str
    system: str
    user: Template

    def messages(self, shown: Given) -> tuple[Message, ...]:
        return Message(role="system", content=self.system), Message(role="user", content=self.user.render(shown))


@cache
def prompt_of(name: str, version: int) -> PromptVersion:
    """The packaged prompt: the system message, a line of three dashes, the template of the user message."""
    folder = files("assay.scorers.judging") / "prompts"
    file = folder / f"{name}.v{version}.md"
    if not file.is_file():
        known = sorted(each.name for each in folder.iterdir() if each.name.startswith(f"{name}.v"))
        versions = ", ".join(each.removeprefix(f"{name}.v").removesuffix(".md") for each in known)
        raise UsageError(f"`{name}` has no prompt of version {version}; there is {versions}")
    system, _, user = file.read_text("utf-8").partition("\n---\n")
    return PromptVersion(f"{name}.v{version}", system.strip(), Template(user.strip(), where=file.name))


def tokens_of_prompt(prompt: str) -> int:
    """About how many tokens of the prompt every call has, to the next ten; the judged texts come on top."""
    name, _, version = prompt.rpartition(".v")
    made = prompt_of(name, int(version))
    return -(-about_tokens(made.system + made.user.source) // 10) * 10


def _said(says: Answer | Callable[[str], Answer]) -> Callable[[Any], str]:
    if callable(says):
        return lambda request: json.dumps(says(request.text()))
    return constant_reply(json.dumps(says))


# -- what instruments ask for ---------------------------------------------------------------------------------------


def text_field() -> dict[str, Any]:
    return {"type": "string"}


def list_of(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a list of objects with these fields."""
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "array", "items": item}


def items_in(answer: Answer, name: str, flag: str) -> list[dict[str, Any]]:
    """The objects of a list, each with a true or false `flag`."""
    items = answer.get(name)
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise UnusableError(f"`{name}` must be a list of objects")
    if wrong := next((each for each in items if not isinstance(each.get(flag), bool)), None):
        raise UnusableError(f"every item of `{name}` needs `{flag}`, true or false; one is {json.dumps(wrong)[:200]}")
    return items


def mark_in(answer: Answer, name: str, lowest: int, highest: int) -> int:
    """A whole number within its scale."""
    mark = answer.get(name)
    mark = int(mark) if isinstance(mark, str) and mark.strip().isdecimal() else mark
    if isinstance(mark, float) and mark.is_integer():
        mark = int(mark)
    if isinstance(mark, bool) or not isinstance(mark, int) or not lowest <= mark <= highest:
        raise UnusableError(f"`{name}` must be a whole number from {lowest} to {highest}, got {json.dumps(mark)[:80]}")
    return mark


def word_in(answer: Answer, name: str, words: Sequence[str]) -> str:
    """One of a few words, whatever their case."""
    given = answer.get(name)
    found = [word for word in words if isinstance(given, str) and word.casefold() == given.strip().casefold()]
    if not found:
        raise UnusableError(f"`{name}` must be one of {', '.join(words)}, got {json.dumps(given)[:80]}")
    return found[0]


def reasoning_in(answer: Answer) -> str | None:
    reasoning = answer.get("reasoning")
    return reasoning if isinstance(reasoning, str) and reasoning.strip() else None


def scaled(mark: int, lowest: int, highest: int) -> float:
    return (mark - lowest) / (highest - lowest)
