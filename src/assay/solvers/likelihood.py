"""Solvers that ask how likely given texts are, instead of letting the model write: choices, and whole texts.

The log-likelihoods are kept in `Trace.items`, one entry per text, so that a run can be scored again under another
normalisation without calling the model again.
"""

from __future__ import annotations

import asyncio
from string import ascii_uppercase
from typing import Annotated, Any

from msgspec import Meta

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace
from assay.metrics.choice_likelihood import NORMALIZATIONS, pick
from assay.overriding import override
from assay.part_options import Doc, InFiles, TemplateOption, part
from assay.prompts.row_sample import RowSample
from assay.solvers.single_turn import SingleRequest

DEFAULT_SEPARATOR = " "


@describes(SolverNeeds(likelihoods=True, plain_variant="lettered_choice"))
@part(
    "Asks how likely each choice is after the prompt; the model writes nothing.",
    example="""\
type: choice_likelihood_solver
prompt: "Question: {{ sample.question }}\\nAnswer:"
choices: "{{ sample.choices | tojson }}"
""",
)
class ChoiceLikelihood:
    """Multiple choice by log-likelihood: each of `extras.choices` is scored as a continuation of the prompt.

    `normalize` sets how choices are compared: `raw` (the sum over tokens), `per_character`, `per_byte`, or
    `unconditional` (how much likelier the prompt makes it). `extras.separator` stands before a choice, a space unless
    given. With `extras.contexts`, a text for each choice, and `extras.continuation`, that continuation is scored after
    each context, as in WinoGrande. A model that cannot score a given text is refused before the first call. `prompt`,
    `choices` and `system_prompt` are templates over the sample's row, in place of the sample's own fields.
    """

    def __init__(
        self,
        *,
        normalize: str = "raw",
        unconditional: bool = False,
        unconditional_prompt: Annotated[str, Doc("The text before a choice when the question is left out.")] = "",
        separator: Annotated[str, Doc("Between prompt and choice.")] = DEFAULT_SEPARATOR,
        prompt: Annotated[
            str | None, Meta(min_length=1), TemplateOption("Template of the text before a choice."), InFiles()
        ] = None,
        choices: Annotated[
            str | None, Meta(min_length=1), TemplateOption("Template of the list of choices."), InFiles()
        ] = None,
        system_prompt: Annotated[
            str | None, TemplateOption("Template; makes it a chat, in which a choice is the answer.")
        ] = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if normalize not in NORMALIZATIONS:
            raise UsageError(f"normalize must be one of {', '.join(NORMALIZATIONS)}, got `{normalize}`")
        self._normalize = normalize
        self._unconditional_prompt = unconditional_prompt
        self._unconditional = unconditional or normalize == "unconditional"
        self._separator = separator
        self._read = _row_sample("choice_likelihood", context, prompt=prompt, choices=choices, system=system_prompt)

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        sample = self._read.of(sample)
        choices = _choices(sample)
        separator = str(sample.extras.get("separator", self._separator))
        system = sample.extras.get("system")
        texts = _continuations(sample, choices)
        requests = [
            _request(prompt, separator + text, system)
            for prompt, text in zip(_contexts(sample, choices), texts, strict=True)
        ]
        if self._unconditional:
            requests += [_request(self._unconditional_prompt, separator + text, None) for text in texts]
        completions = await asyncio.gather(*map(model.generate, requests))
        logprobs = [_logprob(completion, model) for completion in completions]
        items: list[dict[str, Any]] = []
        for place, choice in enumerate(choices):
            item: dict[str, Any] = {"choice": choice, "logprob": logprobs[place]}
            if texts is not choices:
                item["text"] = texts[place]
            if self._unconditional:
                item["unconditional_logprob"] = logprobs[len(choices) + place]
            items.append(item)
        prediction = choices[pick(items, self._normalize)]
        return Trace(prediction=prediction, prompt=sample.prompt, completions=tuple(completions), items=items)

    def traces_without_a_model(self, sample: Sample) -> list[Trace]:
        """A trace for each choice, in which it is by far the likeliest: for checking a task without a model."""
        sample = self._read.of(sample)
        choices = _choices(sample)
        return [
            Trace(
                prediction=chosen,
                prompt=sample.prompt,
                items=[
                    # far enough apart that no normalisation brings them together
                    {"choice": each, "logprob": -1.0 if place == at else -1e6 * len(each) - 1e6}
                    | {"unconditional_logprob": -1.0 * len(each) - 1.0}
                    for place, each in enumerate(choices)
                ],
            )
            for at, chosen in enumerate(choices)
        ]


@describes(SolverNeeds(likelihoods=True))
@part(
    "Asks how likely a text is; the model writes nothing.",
    example='text: "{{ sample.text }}", window: 512, stride: 256',
)
class TextLikelihood:
    """How likely the model finds a given text: for perplexity and bits per byte.

    The text is the first target, after the prompt; without a target, the prompt itself. One longer than the model reads
    is scored in windows, every token exactly once: `window` is their size in tokens (0: what the model can read),
    `stride` how far each advances (0: all but one token, the fewest windows; less gives each token more of the text
    before it). A sample's `extras.window` and `extras.stride` take precedence. `text` (scored) and `prompt` (context)
    are templates over the sample's row.
    """

    def __init__(
        self,
        *,
        window: Annotated[int, Meta(ge=0), Doc("Tokens per window; 0 is the model's context.")] = 0,
        stride: Annotated[int, Meta(ge=0), Doc("Tokens a window moves on; 0 is all but one.")] = 0,
        prompt: Annotated[str | None, TemplateOption("Template of what is only read before it."), InFiles("")] = None,
        text: Annotated[
            str | None, Meta(min_length=1), TemplateOption("Template of the text that is scored."), InFiles()
        ] = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if wrong := _wrong_window(window, stride):
            raise UsageError(wrong)
        self._window, self._stride = window, stride
        self._read = _row_sample("text_likelihood", context, prompt=prompt, target=text)

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        sample = self._read.of(sample)
        prompt, text = (sample.prompt, sample.targets[0]) if sample.targets else ("", sample.prompt)
        rolling = (sample.extras.get("window", self._window), sample.extras.get("stride", self._stride))
        if wrong := _wrong_window(*rolling):
            raise _bad_request(wrong, "text_likelihood")
        completion = await model.generate(Request(prompt=prompt, continuation=text, rolling=rolling))
        item: dict[str, Any] = {"text": text, "logprob": _logprob(completion, model)}
        for name, field in (("tokens", "continuation_tokens"), ("windows", "windows")):
            if isinstance(count := (completion.raw or {}).get(field), int):
                item[name] = count
        return Trace(prediction=text, prompt=sample.prompt, completions=(completion,), items=[item])


@describes(SolverNeeds())
class LetteredChoice(SingleRequest):
    """Multiple choice by writing: the choices with letters before them, and a request for the letter alone."""

    def __init__(
        self,
        *,
        prompt: str | None = None,
        choices: str | None = None,
        system_prompt: str | None = None,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        self._read = _row_sample("lettered_choice", context, prompt=prompt, choices=choices, system=system_prompt)

    @override
    def request(self, sample: Sample) -> Request:
        sample = self._read.of(sample)
        choices = _choices(sample)
        lettered = choices == list(ascii_uppercase[: len(choices)])  # then the prompt has them already
        lines = [] if lettered else [f"{ascii_uppercase[place]}. {choice}" for place, choice in enumerate(choices)]
        prompt = "\n".join([sample.prompt, *lines, "Answer with the letter of the right choice alone."])
        if not isinstance(system := sample.extras.get("system"), str):
            return Request(prompt=prompt)
        return Request(messages=(Message(role="system", content=system), Message(role="user", content=prompt)))


def _wrong_window(window: Any, stride: Any) -> str | None:
    for name, value, least in (("window", window, 2), ("stride", stride, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or (value != 0 and value < least):
            return f"{name} must be a whole number of at least {least}, or 0 for the maximum, got {value!r}"
    return None


def _row_sample(part: str, context: BuildContext, **templates: str | None) -> RowSample:
    return RowSample(templates, where="definition.solver", stage="solver", part=part, context=context)


def _request(prompt: str, continuation: str, system: Any) -> Request:
    if not isinstance(system, str):
        return Request(prompt=prompt, continuation=continuation)
    # a system message makes it a chat: the choice is what the assistant would say
    messages = (Message(role="system", content=system), Message(role="user", content=prompt))
    return Request(messages=messages, continuation=continuation.lstrip())


def _choices(sample: Sample) -> list[str]:
    choices = sample.extras.get("choices")
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(choice, str) for choice in choices):
        raise _bad_request("extras.choices must be a list of at least two texts")
    return choices


def _contexts(sample: Sample, choices: list[str]) -> list[str]:
    contexts = sample.extras.get("contexts")
    if contexts is None:
        return [sample.prompt] * len(choices)
    if not isinstance(contexts, list) or len(contexts) != len(choices) or not all(isinstance(c, str) for c in contexts):
        raise _bad_request("extras.contexts must be a list of texts, one for each choice")
    return contexts


def _continuations(sample: Sample, choices: list[str]) -> list[str]:
    """What is scored for each choice: its own text, or the shared continuation after the choice's own context."""
    if "contexts" not in sample.extras:
        return choices
    text = sample.extras.get("continuation")
    if not isinstance(text, str) or not text.strip():
        raise _bad_request("extras.contexts needs extras.continuation, the text that is scored after each of them")
    return [text] * len(choices)


def _bad_request(message: str, part: str = "choice_likelihood") -> FailureError:
    return FailureError(Failure(stage="solver", part=part, kind="bad_request", message=message))


def _logprob(completion: Completion, model: Model) -> float:
    if completion.logprob is None:
        message = "the model answered without the log-likelihood it was asked for"
        raise FailureError(Failure(stage="model", part=model.name, kind="bad_output", message=message))
    return completion.logprob
