"""`prompt_template`: a prompt of a program in JavaScript, rendered with the sample's row and asked once.

A prompt that is JSON, or YAML with roles, is a conversation. The author's program may also return the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Failure, Message, Request, Sample, Trace
from assay.prompts.nunjucks import TemplateError, ask
from assay.snippets.programs import Programs
from assay.solvers.request_span import traced
from assay.solvers.single_turn import answered
from assay.solvers.templated import settings_of


class PromptTemplate:
    """One request, one answer."""

    def __init__(
        self,
        prompt: str,
        environment: Mapping[str, str],
        settings: Mapping[str, Any],
        tracing: Mapping[str, Any] | None = None,
    ) -> None:
        self._prompt = prompt
        self._environment = environment
        self._settings = settings
        self._tracing = tracing

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        request = self.request(sample)
        completion = await model.generate(request)
        return answered(request, completion if self._tracing is None else traced(completion, model.name, self._tracing))

    def request(self, sample: Sample) -> Request:
        """The request for this sample; a test may put texts before and after the prompt."""
        before, after = sample.extras.get("around") or ("", "")
        try:
            rendered = ask(f"{before}{self._prompt}{after}", {**(sample.row or {}), "env": self._environment})
        except TemplateError as error:
            failure = Failure(stage="prompt", part="prompt_template", kind="template", message=str(error))
            raise FailureError(failure) from error
        if rendered.messages is None:
            return Request(prompt=rendered.prompt, **self._settings)
        return Request(messages=tuple(msgspec.convert(rendered.messages, list[Message])), **self._settings)


class PromptProgram:
    """The same with a prompt that a program builds from the variables."""

    def __init__(
        self,
        program: Mapping[str, Any],
        environment: Mapping[str, str],
        settings: Mapping[str, Any],
        tracing: Mapping[str, Any] | None,
        context: BuildContext,
    ) -> None:
        self._program = program
        self._programs = Programs("prompt_template", context, stage="prompt")
        self._environment = environment
        self._settings = settings
        self._tracing = tracing

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        given = {"vars": sample.row or {}, "provider": {"id": model.name}, "config": self._program.get("config") or {}}
        prompt = await self._programs.run(self._program, given)
        if isinstance(prompt, dict) and "prompt" in prompt:
            prompt = prompt["prompt"]
        if prompt is None:
            message = "the program returned no prompt"
            raise FailureError(Failure(stage="prompt", part="prompt_template", kind="bad_output", message=message))
        text = prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False)
        return await PromptTemplate(text, self._environment, self._settings, self._tracing)(sample, model)

    async def aclose(self) -> None:
        await self._programs.aclose()


@describes(lambda options, _: SolverNeeds(runs="program" if options.get("program") is not None else "here"))
def prompt_template(
    *,
    prompt: str = "",
    program: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    generation: Mapping[str, Any] | None = None,
    tracing: Mapping[str, Any] | None = None,
    python_snippet: str | None = None,
    node_program: str | None = None,
    context: BuildContext = NO_CONTEXT,
) -> PromptTemplate | PromptProgram:
    """A Nunjucks template as the prompt, over the sample's row: the prompts of promptfoo.

    `environment` are the variables it may name as `env.NAME`, `generation` the settings of the request. `program`
    makes the prompt instead, where `python_snippet` or `node_program` says that it is run. With `tracing`, the answer
    keeps the span of its request: the one called `span` for the model `model`, `chat MODEL` for any other.
    """
    if program is not None:
        if not (python_snippet or node_program):
            raise UsageError("a program that makes prompts is named as `python_snippet` or `node_program` too")
        return PromptProgram(program, environment or {}, settings_of(generation), tracing, context)
    return PromptTemplate(prompt, environment or {}, settings_of(generation), tracing)
