"""`single_turn_solver`: the model's input is rendered from the sample's row, asked once, and the answer kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Model, offers_of
from assay.core.types import Message, Request, Sample, Trace
from assay.overriding import override
from assay.part_options import Doc, Problem, part
from assay.prompts.field_template import FieldTemplate
from assay.prompts.written_text import row_variables
from assay.schema_rules import given, implies, of_type
from assay.solvers.conversation_options import FewShotOptions, Generation, InputBuilder
from assay.solvers.few_shot_turns import FewShot
from assay.solvers.single_turn import SingleRequest, answered

CUSTOM = "custom"
"""What the reader of a task adds to a `generic` input builder that is for custom models alone."""
_REQUEST_FIELDS = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "response_format", "tools")


def _takes_few_shot(options: Mapping[str, Any]) -> list[Problem]:
    builder = options["input_builder"]
    if options["few_shot"] is not None and isinstance(builder, dict) and builder.get("type") != "chat_completion":
        return [(("few_shot",), "few-shot examples need an input builder of type `chat_completion`")]
    return []


@describes(SolverNeeds())
@part(
    "One rendered input, one answer.",
    example="""\
type: single_turn_solver
generation: {temperature: 0}
input_builder:
  type: chat_completion
  input_messages:
    - {role: system, content: Answer in one sentence.}
    - {role: user, content: "{{ sample.question }}"}
""",
    check=_takes_few_shot,
    editor=(implies(given("few_shot"), {"properties": {"input_builder": {"not": of_type("generic")}}}),),
)
def single_turn_solver(
    *,
    input_builder: InputBuilder,
    few_shot: Annotated[FewShotOptions | None, Doc("Few-shot examples before the last message.")] = None,
    generation: Generation = None,
    context: BuildContext = NO_CONTEXT,
) -> ChatInput | GenericInput:
    """One rendered input, one answer: `generic` renders JSON, `chat_completion` renders messages.

    `generation` are the settings of the request; those in a rendered JSON come first. `few_shot` puts examples
    before the last message.
    """
    if input_builder["type"] == "chat_completion":
        messages = input_builder["input_messages"]
        examples = FewShot(few_shot, str(messages[-1]["content"]), context) if few_shot is not None else None
        return ChatInput(messages, context, settings_of(generation), examples)
    if input_builder["type"] == "generic":
        is_custom = bool(input_builder.get(CUSTOM))
        return GenericInput(input_builder["template"], context, settings_of(generation), custom=is_custom)
    raise UsageError(f"unknown input builder `{input_builder['type']}`; known: chat_completion, generic")


def settings_of(generation: Mapping[str, Any] | None) -> dict[str, Any]:
    """Generation settings as the fields of a request."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in (generation or {}).items()}


class ChatInput(SingleRequest):
    """Messages whose contents are templates."""

    def __init__(
        self,
        input_messages: Sequence[Mapping[str, Any]],
        context: BuildContext,
        settings: Mapping[str, Any],
        few_shot: FewShot | None = None,
    ) -> None:
        self._settings = settings
        self._few_shot = few_shot
        self._messages = [
            (
                str(message["role"]),
                FieldTemplate(
                    message["content"],
                    field=f"definition.solver.input_builder.input_messages[{at}].content",
                    stage="solver",
                    part="single_turn_solver",
                    context=context,
                ),
            )
            for at, message in enumerate(input_messages)
        ]

    @override
    def request(self, sample: Sample) -> Request:
        variables = row_variables(sample)
        messages = tuple(
            Message(role=role, content=content.render(variables, sample)) for role, content in self._messages
        )
        if self._few_shot is not None:
            messages = self._few_shot.before(messages, sample)
        return Request(messages=messages, **self._settings)


class GenericInput(SingleRequest):
    """One template that renders to the JSON of the model's input."""

    def __init__(
        self, template: str, context: BuildContext, settings: Mapping[str, Any], *, custom: bool = False
    ) -> None:
        """`custom`: the task is for custom models alone, to which the JSON goes as it stands."""
        self._settings = settings
        self._custom = custom
        self._template = FieldTemplate(
            template,
            field="definition.solver.input_builder.template",
            stage="solver",
            part="single_turn_solver",
            context=context,
        )

    @override
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        request = self._any_json(sample) if offers_of(model).custom else self._chat(sample)
        return answered(request, await model.generate(request))

    @override
    def request(self, sample: Sample) -> Request:
        return self._any_json(sample) if self._custom else self._chat(sample)

    def _any_json(self, sample: Sample) -> Request:
        """The JSON as it stands, for a model that takes any."""
        if self._settings:
            message = "`generation` has no place in the JSON of a custom model; write the settings into the template"
            raise self._template.failure("bad_input", message, sample)
        text = self._template.render(row_variables(sample), sample)
        try:
            msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._no_json(text, error, sample) from error
        return Request(prompt=text)

    def _no_json(self, text: str, error: Exception, sample: Sample) -> FailureError:
        hint = " (write `{{ … | tojson }}` without quotes around it for text with quotes or newlines)"
        problem = f"the template must render to JSON: {error}{hint}"
        if type(error) is ValueError:
            problem = f"the template's input cannot be sent: {error}"
        return self._template.failure("bad_input", f"{problem}; it rendered {text[:200]!r}", sample)

    def _chat(self, sample: Sample) -> Request:
        text = self._template.render(row_variables(sample), sample)
        try:
            request = request_of(msgspec.json.decode(text))
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError) as error:
            raise self._no_json(text, error, sample) from error
        missing = {name: value for name, value in self._settings.items() if getattr(request, name) is None}
        return msgspec.structs.replace(request, **missing) if missing else request


def request_of(data: Any) -> Request:
    """The request a JSON input stands for: messages with settings, a text, or any JSON for a custom model."""
    if isinstance(data, str):
        return Request(prompt=data)
    if not isinstance(data, dict) or "messages" not in data:
        if isinstance(data, dict) and (chat := next((name for name in data if _is_chat(data[name])), None)):
            raise ValueError(f"a chat is under `messages`, and this one is under `{chat}`")
        return Request(prompt=msgspec.json.encode(data).decode())
    fields = request_fields({name: value for name, value in data.items() if name != "messages"})
    return Request(messages=msgspec.convert(data["messages"], tuple[Message, ...]), **fields)


def _is_chat(value: Any) -> bool:
    """Whether it is a list of messages, which a chat model would be sent as the text of its JSON."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "role" in each for each in value)


def request_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a chat as fields of a request, those it has no field for as `extra`; `ValueError` for a `model`.

    Requests go to the evaluated model only: another model's answer would be recorded under its name.
    """
    extra = dict(settings)
    if "model" in extra:
        raise ValueError(f"`model` is chosen by the run, and the input names `{extra['model']}`; leave it out")
    fields = {name: extra.pop(name) for name in _REQUEST_FIELDS if name in extra}
    stop = extra.pop("stop", None)
    if stop is not None:
        fields["stop"] = (stop,) if isinstance(stop, str) else tuple(stop)
    return {**fields, "extra": extra or None}
