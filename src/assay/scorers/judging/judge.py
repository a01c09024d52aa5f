"""`model_as_a_judge_classifier` and `model_as_a_judge_scorer`: another model labels or grades the answer.

The judge is called through the run's own model stack, so cache, limits and retries apply; its tokens are kept apart in
the score's metadata under `judge`. A verdict that cannot be read, or lies outside the range, is asked for again, with
the reason; one that stays unusable is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from assay.core.describe import ModelOffers, ScorerInfo, describes, mean_of, share
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Score, Trace
from assay.evaluators.usable_answers import Read, UnusableError, is_refusal, read_answer
from assay.part_options import ANSWER, Doc, InFiles, ModelKey, Problem, TemplateOption, part
from assay.scorers.expected import judge_columns, unseen_columns
from assay.scorers.judging.rehearsed import Verdict
from assay.scorers.judging.variables import scorer_field, scorer_variables
from assay.scorers.judging.verdict import read_label, read_score

_SAID_FIELDS = ("reasoning", "confidence")
# what servers answer to a schema they do not know
_NO_SCHEMAS = ("unsupported", "bad_request")


NOT_CALLED = "not_called"
"""The failure kind of a judge where no model is called: the verdict that it gave in a run, if any, still stands."""


JUDGE_SYSTEM_PROMPT = "You are a helpful assistant and will be used to judge the output of another model."
JudgeKey = Annotated[str, ModelKey("The key of the model that judges.")]
JudgeInstructions = Annotated[str, TemplateOption("The judge's instructions.", ANSWER), InFiles(JUDGE_SYSTEM_PROMPT)]
JudgePrompt = Annotated[
    str,
    TemplateOption(
        "Template of the user message; may read `sample`, `model_output`, `messages`, `solver_output`.", ANSWER
    ),
]
Structured = Annotated[bool, Doc("Whether the judge is asked for JSON by schema.")]


class Hearing(NamedTuple):
    """The request to a judge, and its answers: the last one is the verdict."""

    messages: tuple[Message, ...]
    completions: list[Completion]
    expected: dict[str, str]
    """Columns of the row that the judge was shown and the model was not."""


class Judge:
    """Renders the two prompts, calls the model, and turns what went wrong into failures of the scorer."""

    def __init__(
        self,
        key: str,
        *,
        model_key: str,
        model: Mapping[str, Any] | None,
        system_prompt: str,
        user_prompt: str,
        instruction: str,
        schema: dict[str, Any] | None,
        has_solver: bool,
        context: BuildContext,
    ) -> None:
        self.name = key
        self._model = judge_model(model_key, model, context)
        self._judge = SchemaJudge(self._model, key, schema, context.judge_retries)
        self._has_solver = has_solver
        self._instruction = instruction
        self._system = scorer_field(key, "system_prompt", system_prompt, context)
        self._user = scorer_field(key, "user_prompt", user_prompt, context)

    async def verdict(
        self, sample: Sample, trace: Trace, read: Callable[[str], tuple[Read, dict[str, Any]]]
    ) -> tuple[Read, dict[str, Any], Hearing]:
        """What was read from the judge's answer, the whole verdict, and the exchange with the judge."""
        messages = self._messages(sample, trace)
        answers = await self._judge.ask(messages, lambda completion: read(completion.text), sample)
        completions, (value, verdict) = answers
        return value, verdict, Hearing(messages, completions, self._expected(sample, trace))

    def _messages(self, sample: Sample, trace: Trace) -> tuple[Message, ...]:
        variables = scorer_variables(sample, trace, has_solver=self._has_solver)
        system = self._system.render(variables, sample)
        return (
            Message(role="system", content=f"{system}\n\n{self._instruction}" if self._instruction else system),
            Message(role="user", content=self._user.render(variables, sample)),
        )

    def metadata(self, hearing: Hearing, verdict: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What a reader needs to review the judge: its prompt, its answer, its cost."""
        said = {name: verdict[name] for name in _SAID_FIELDS if name in verdict}
        prompt = [{"role": message.role, "content": message.content} for message in hearing.messages]
        judge = {**usage(self._model, *hearing.completions), "prompt": prompt, "said": hearing.completions[-1].text}
        expected = {"expected": hearing.expected} if hearing.expected else {}
        return {**more, **said, **expected, "judge": judge}

    def _expected(self, sample: Sample, trace: Trace) -> dict[str, str]:
        """The columns that the judge was shown and the model was not: what the answer was compared with."""
        named = judge_columns({"system_prompt": self._system.source, "user_prompt": self._user.source})
        prompt = trace.prompt or "\n".join(
            str(message.content) for message in trace.messages or () if message.role != "assistant"
        )
        return unseen_columns(sample.row or {}, named, prompt)


class SchemaJudge:
    """Asks a model for JSON by schema, if there is one and as long as the model takes it; else in words alone."""

    def __init__(self, model: Model, part: str, schema: dict[str, Any] | None, retries: int) -> None:
        self._model, self._part, self._retries = model, part, retries
        self._format = (
            None
            if schema is None
            else {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
        )

    async def ask(
        self, messages: tuple[Message, ...], read: Callable[[Completion], Read], sample: Sample
    ) -> tuple[list[Completion], Read]:
        about: dict[str, Any] = {"retries": self._retries, "sample": sample}
        request = Request(messages=messages, response_format=self._format)
        try:
            return await ask_judge(self._model, request, self._part, read, **about)
        except FailureError as error:
            if request.response_format is None or error.failure.kind not in _NO_SCHEMAS:
                raise
        answer = await ask_judge(self._model, Request(messages=messages), self._part, read, **about)
        self._format = None  # this model offers no structured outputs; the parser reads plain answers as well
        return answer


async def ask_judge(
    model: Model,
    request: Request,
    part: str,
    read: Callable[[Completion], Read],
    *,
    retries: int,
    sample: Sample | None = None,
) -> tuple[list[Completion], Read]:
    """Every answer, and what was read from the last; an error is a failure of the scorer that made the call.

    `read` raises `UnusableError` for an answer that is no verdict.
    """
    try:
        return await read_answer(model, request, read, retries=retries)
    except UnusableError as error:
        raise _unusable(error, part, sample) from error
    except FailureError as error:
        what = f"judge `{model.name}`: {error.failure.message}"
        raise FailureError(
            msgspec.structs.replace(error.failure, stage="scorer", part=part, message=what), error.retry_after_seconds
        ) from error


def _unusable(error: UnusableError, part: str, sample: Sample | None) -> FailureError:
    said = error.answer or Completion(text="")
    if is_refusal(said):
        kind, message = "refused", f"the judge refused: {said.refusal or ''}"
    else:
        shown = said.text if len(said.text) <= 300 else said.text[:300] + "…"
        kind, message = "bad_output", f"unusable verdict: {error}; it said {shown!r}"
    prefix = "" if sample is None else f"sample `{sample.id}`: "
    return FailureError(Failure(stage="scorer", part=part, kind=kind, message=prefix + message))


def judge_model(
    model_key: str, model: Mapping[str, Any] | None, context: BuildContext, *, timeout_seconds: float | None = None
) -> Model:
    """The judge behind a key; a stand-in without answers where nothing is run."""
    limits = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
    return context.model_behind(model_key, model, **limits) or _Absent(model_key)


class _Absent:
    """Stands for a judge where nothing is run: a task can be built and shown without it."""

    offers = ModelOffers(embeddings=True)

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, request: Request) -> Completion:
        raise FailureError(
            Failure(stage="model", part=self.name, kind=NOT_CALLED, message="models can be called only during a run")
        )


def usage(model: Model, *completions: Completion) -> dict[str, Any]:
    """What the judge cost, apart from the evaluated model."""
    return {
        "model": model.name,
        "calls": len(completions),
        "tokens_in": sum(completion.tokens_in or 0 for completion in completions if not completion.cached),
        "tokens_out": sum(completion.tokens_out or 0 for completion in completions if not completion.cached),
        "cached": sum(completion.cached for completion in completions),
    }


def constant_reply(text: str) -> Callable[[Request], str]:
    """A judge that always gives the same answer."""
    return lambda _: text


NO_VERDICT = Verdict(constant_reply(""), None)
"""An empty answer, which no scorer accepts as a verdict."""


def _label_sets(options: Mapping[str, Any]) -> list[Problem]:
    correct, incorrect = options["correct_labels"], options["incorrect_labels"]
    if not isinstance(correct, list) or not isinstance(incorrect, list):  # still to be configured
        return []
    both = sorted({str(label) for label in correct} & {str(label) for label in incorrect})
    return [(("incorrect_labels",), f"`{both[0]}` is also a correct label")] if both else []


@describes(
    ScorerInfo(
        values=(share("is_correct"),),
        aggregates=(mean_of("is_correct", name="accuracy"),),
        judges_answers=True,
        verdict="is_correct",
        calls="1 call",
    )
)
@part(
    "A judge gives one of the labels.",
    check=_label_sets,
    example="""\
type: model_as_a_judge_classifier
key: verdict
model_key: judge
system_prompt: Say whether the answer names the expected city.
user_prompt: |
  Expected: {{ sample.capital }}
  Answer: {{ solver_output.output }}
correct_labels: [correct]
incorrect_labels: [incorrect]
""",
)
class Classifier(Judge):
    """`is_correct`: a judge model answers with a label, and the label is one of the correct ones."""

    def __init__(
        self,
        key: str,
        *,
        model_key: JudgeKey,
        system_prompt: JudgeInstructions,
        user_prompt: JudgePrompt,
        correct_labels: Annotated[
            Sequence[str], msgspec.Meta(min_length=1), Doc("Labels that mean the answer is right.")
        ],
        incorrect_labels: Annotated[Sequence[str], Doc("Labels that mean it is wrong.")],
        use_structured_outputs: Structured = False,
        has_solver: bool = True,
        model: Mapping[str, Any] | None = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self._correct = tuple(correct_labels)
        self._labels = (*correct_labels, *incorrect_labels)
        super().__init__(
            key,
            model_key=model_key,
            model=model,
            system_prompt=system_prompt,
            user_prompt=user_prompt,
            instruction=label_instruction("prediction", self._labels, use_structured_outputs),
            schema=verdict_schema("prediction", {"enum": list(self._labels)}) if use_structured_outputs else None,
            has_solver=has_solver,
            context=context,
        )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        label, verdict, hearing = await self.verdict(
            sample, trace, lambda text: read_label(text, self._labels, ("prediction", "label"))
        )
        return Score(
            name=self.name,
            values={"is_correct": label in self._correct},
            reason=_reason(verdict),
            metadata=self.metadata(hearing, verdict, prediction=label),
        )

    def verdicts(self) -> list[Verdict]:
        """Every label, plain and as JSON."""
        return [
            *(
                Verdict(constant_reply(text), {"is_correct": label in self._correct})
                for label in self._labels
                for text in (label, msgspec.json.encode({"prediction": label}).decode())
            ),
            NO_VERDICT,
        ]


def _score_range(options: Mapping[str, Any]) -> list[Problem]:
    low, high = options["score_min"], options["score_max"]
    if isinstance(low, int | float) and isinstance(high, int | float) and not low < high:
        return [(("score_max",), f"must be above score_min ({low}), got {high}")]
    return []


@describes(ScorerInfo(values=(share("score"),), judges_answers=True, verdict="score", calls="1 call"))
@part(
    "A judge gives a number, scaled to [0, 1].",
    check=_score_range,
    example="""\
type: model_as_a_judge_scorer
key: quality
model_key: judge
system_prompt: Rate the answer from 1 (useless) to 5 (perfect).
user_prompt: |
  Question: {{ sample.question }}
  Answer: {{ solver_output.output }}
score_min: 1
score_max: 5
""",
)
class Rating(Judge):
    """`score`: a judge model gives a number between score_min and score_max, scaled to [0, 1]."""

    def __init__(
        self,
        key: str,
        *,
        model_key: JudgeKey,
        system_prompt: JudgeInstructions,
        user_prompt: JudgePrompt,
        score_min: Annotated[float, Doc("The worst mark, which becomes 0.")] = 0.0,
        score_max: Annotated[float, Doc("The best mark, which becomes 1.")] = 1.0,
        use_structured_outputs: Structured = False,
        has_solver: bool = True,
        model: Mapping[str, Any] | None = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if not score_min < score_max:
            raise UsageError(f"scorer `{key}`: score_max ({score_max}) must be above score_min ({score_min})")
        self._low, self._high = float(score_min), float(score_max)
        number = {"type": "number", "minimum": score_min, "maximum": score_max}
        if use_structured_outputs:
            instruction = 'Answer with a JSON object that has the fields "score", "reasoning" and "confidence".'
        else:
            instruction = f"Answer with a number from {score_min:g} to {score_max:g} and nothing else."
        super().__init__(
            key,
            model_key=model_key,
            model=model,
            system_prompt=system_prompt,
            user_prompt=user_prompt,
            instruction=instruction,
            schema=verdict_schema("score", number) if use_structured_outputs else None,
            has_solver=has_solver,
            context=context,
        )

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        raw, verdict, hearing = await self.verdict(sample, trace, lambda text: read_score(text, self._low, self._high))
        return Score(
            name=self.name,
            values={"score": (raw - self._low) / (self._high - self._low)},
            reason=_reason(verdict),
            metadata=self.metadata(hearing, verdict, raw_score=raw),
        )

    def verdicts(self) -> list[Verdict]:
        """Both ends of the range, plain and as JSON."""
        return [
            *(
                Verdict(constant_reply(text), {"score": share})
                for raw, share in ((self._low, 0.0), (self._high, 1.0))
                for text in (f"{raw:.17g}" if abs(raw) < 1e30 else "", msgspec.json.encode({"score": raw}).decode())
                if text
            ),
            NO_VERDICT,
        ]


def label_instruction(name: str, labels: Sequence[str], structured: bool) -> str:
    if structured:
        return f'Answer with a JSON object that has the fields "{name}", "reasoning" and "confidence".'
    if not labels:
        return "Answer with the label and nothing else."
    return f"Answer with one of these labels and nothing else: {', '.join(labels)}"


def verdict_schema(name: str, shape: dict[str, Any]) -> dict[str, Any]:
    properties = {"reasoning": {"type": "string"}, name: shape, "confidence": {"type": "number"}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _reason(verdict: dict[str, Any]) -> str | None:
    reasoning = verdict.get("reasoning")
    return reasoning if isinstance(reasoning, str) else None
