"""The scorer of a model-graded eval: a grader gets the answer in the eval's template and picks one of its choices."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.bridges.openai_evals.samples import is_chat, text_of_chat
from assay.core.describe import ScorerInfo, Value, describes, share
from assay.core.errors import FailureError
from assay.core.seams import JUDGE_RETRIES, NO_CONTEXT, BuildContext
from assay.core.types import Completion, Failure, Message, Request, Sample, Score, ScoreValue, Trace
from assay.evaluators.usable_answers import UnusableError
from assay.scorers.judging.judge import ask_judge, judge_model, usage

MATCHES: dict[str, Callable[[str, str], bool]] = {
    "include": lambda line, choice: line in choice,
    "exact": lambda line, choice: line == choice,
    "endswith": lambda line, choice: line.endswith(choice),
    "starts_or_endswith": lambda line, choice: line.startswith(choice) or line.endswith(choice),
}


class ModelGraded:
    """`choice`; `score` if the template maps choices to numbers; `metascore` if samples name the right choice."""

    def __init__(self, key: str, options: Mapping[str, Any], model: Any, retries: int = JUDGE_RETRIES) -> None:
        self.name = key
        self._options = options
        self._model = model
        self._retries = retries

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        options = self._options
        request = Request(
            messages=tuple(Message(role=role, content=text) for role, text in self._prompt(sample, trace)),
            **{"temperature": 0.0, "top_p": 1.0, **options["grading"]},
        )

        def read(completion: Completion) -> str:
            choice = choice_in(completion.text, options["choices"], options["eval_type"], options["match_fn"])
            if choice is None:
                raise UnusableError(f"no line of it is one of {', '.join(options['choices'])}")
            return choice

        answers, choice = await ask_judge(self._model, request, self.name, read, retries=self._retries)
        values: dict[str, ScoreValue] = {"choice": choice}
        if options["choice_scores"] is not None:
            values = {"score": float(options["choice_scores"][choice]), **values}
        if options["metaeval"]:
            values["metascore"] = choice == (sample.row or {}).get("choice")
        judge = {**usage(self._model, *answers), "said": answers[-1].text}
        return Score(name=self.name, values=values, metadata={"judge": judge})

    def _prompt(self, sample: Sample, trace: Trace) -> list[tuple[str, str]]:
        """The template with the sample's fields and the answers, conversations as texts."""
        row = dict(sample.row or {})
        for name in self._options["inputs"]:
            row[name] = _doubled(row.get(name))
        answers = {str(item["name"]): item["content"] for item in trace.items or ()}
        fields = {**answers, **row, **self._options["arguments"]}
        texts = {name: text_of_chat(each) if is_chat(each) else each for name, each in fields.items()}
        prompt = []
        for message in self._options["prompt"]:
            try:
                prompt.append((str(message["role"]), str(message["content"]).format_map(texts)))
            except KeyError as error:
                problem = f"sample `{sample.id}` has no {error}, which the template `{self._options['template']}` uses"
                raise FailureError(
                    Failure(stage="scorer", part=self.name, kind="bad_input", message=problem)
                ) from error
        return prompt


def _doubled(value: Any) -> Any:
    """The `evals` package doubles the braces of inputs before the grader gets them."""
    if is_chat(value):
        return [{**item, "content": _doubled(item.get("content", ""))} for item in value]
    return value.replace("{", "{{").replace("}", "}}") if isinstance(value, str) else value


def choice_in(text: str, choices: Sequence[str], eval_type: str, match_fn: str) -> str | None:
    """The first line that is a choice, punctuation aside; the last one where reasons come first."""
    lines = text.strip().split("\n")
    for line in reversed(lines) if eval_type.startswith("cot_classify") else lines:
        bare = "".join(letter for letter in line.strip() if letter not in string.punctuation)
        for choice in choices if bare else ():
            if MATCHES[match_fn](bare, choice):
                return choice
    return None


def _described(options: Mapping[str, Any]) -> ScorerInfo:
    scores = options.get("choice_scores")
    score = Value(name="score", range=(min(scores.values()), max(scores.values()))) if scores else None
    choice = Value(name="choice", kind="label", lower_is_better=None)
    return ScorerInfo(values=(choice, share("metascore"), *([score] if score else [])), aggregates=())


@describes(lambda options, _: _described(options))
def model_graded(
    key: str,
    *,
    model_key: str,
    template: str,
    prompt: Sequence[Mapping[str, str]],
    choices: Sequence[str],
    eval_type: str,
    inputs: Sequence[str] = (),
    choice_scores: Mapping[str, float] | None = None,
    match_fn: str = "starts_or_endswith",
    arguments: Mapping[str, Any] | None = None,
    grading: Mapping[str, Any] | None = None,
    metaeval: bool = False,
    model: Mapping[str, Any] | None = None,
    context: BuildContext = NO_CONTEXT,
) -> ModelGraded:
    """A grader picks one of `choices`, as in the model-graded templates of OpenAI evals.

    `prompt` are messages with the sample's fields and answers in braces, `grading` the grader's generation settings.
    """
    options = {
        "template": template, "prompt": prompt, "choices": choices, "eval_type": eval_type, "inputs": inputs,
        "choice_scores": choice_scores, "match_fn": match_fn, "arguments": arguments or {}, "grading": grading or {},
        "metaeval": metaeval,
    }  # fmt: skip
    return ModelGraded(key, options, judge_model(model_key, model, context), context.judge_retries)
