"""`multi_turn_solver`: a conversation made by builders: messages, answers of models, loops, and reasons to stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError, UsageError
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Failure, Message, Request, Sample, Trace
from assay.part_options import Doc, Problem, part
from assay.prompts.field_template import FieldTemplate
from assay.prompts.template import template_reads
from assay.prompts.written_text import row_variables
from assay.schema_rules import Schema, all_of, is_one, of_type
from assay.snippets.payload import plain_message
from assay.snippets.views import Node, chat_messages
from assay.solvers.conversation_options import (
    ChatMessage,
    GenerateMessage,
    Generation,
    LoadTrace,
    Loop,
    MessageBuilder,
    Terminating,
)
from assay.solvers.pass_through import recorded_items
from assay.solvers.single_turn import reply
from assay.solvers.templated import settings_of


@dataclass(slots=True)
class _Conversation:
    """The messages of one attempt so far."""

    sample: Sample
    model: Model
    settings: Mapping[str, Any]
    messages: list[Message] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    answers: list[Message] = field(default_factory=list)
    """The evaluated model's own messages: scripted ones and those of other models are `assistant` messages too."""
    loop_index: int | None = None

    def variables(self) -> dict[str, Any]:
        variables: dict[str, Any] = {
            **row_variables(self.sample),
            "messages": [Node(plain_message(message)) for message in self.messages],
        }
        if self.loop_index is not None:
            variables["loop_index"] = self.loop_index
        return variables


@dataclass(frozen=True, slots=True)
class _Stop:
    """A condition was met; `keep` says whether what led to it stays in the conversation."""

    keep: bool


class MultiTurn:
    """Runs the builders in order; the last answer of the evaluated model that was kept is the prediction."""

    def __init__(self, builders: Sequence[Any], settings: Mapping[str, Any]) -> None:
        self._builders = builders
        self._settings = settings
        """The evaluated model's generation settings."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        conversation = _Conversation(sample, model, self._settings)
        for builder in self._builders:
            before = len(conversation.messages)
            stop = await builder.run(conversation)
            if stop is not None:
                if not stop.keep:
                    del conversation.messages[before:]
                break
        own = {id(answer) for answer in conversation.answers}
        standing = [message for message in conversation.messages if id(message) in own]
        if not standing:
            raise _failure("bad_output", f"sample `{sample.id}`: the conversation ended without an answer of the model")
        return Trace(
            prediction=str(standing[-1].content),
            messages=tuple(conversation.messages),
            completions=tuple(conversation.completions),
        )


NEVER_CALLED = (
    "no builder is `generate`, so the evaluated model would never be called; "
    "a recorded conversation is read by `pass_through_solver`"
)


def asks(specs: Sequence[Any]) -> bool:
    """Whether a conversation of these builders asks the evaluated model."""
    builders = [spec for spec in specs if isinstance(spec, dict)]
    return any(spec["type"] == "generate" or asks(spec.get("message_builders") or ()) for spec in builders)


def _problems(options: Mapping[str, Any]) -> list[Problem]:
    builders = options["message_builders"]
    if not isinstance(builders, list):
        return []
    problems: list[Problem] = [] if asks(builders) else [(("message_builders",), NEVER_CALLED)]
    for place, content in _outside_of_loops(builders, ("message_builders",)):
        try:
            read = template_reads(content)
        except UsageError:  # reported where it was compiled, or to be filled in first
            continue
        if any(path[0] == "loop_index" for path in read.paths) and "loop_index" not in read.guarded:
            problems.append((place, "the template reads `loop_index`, which only messages inside a `loop` have"))
    return problems


def _outside_of_loops(builders: Sequence[Any], where: tuple[str | int, ...]) -> Iterator[tuple[Any, str]]:
    """The contents of messages that no loop repeats, each with its place."""
    for at, spec in enumerate(builders):
        if not isinstance(spec, dict):
            continue
        if isinstance(content := spec.get("content"), str):
            yield (*where, at, "content"), content
        extra = spec.get("extra_input_messages")
        if isinstance(extra, list):
            yield from _outside_of_loops(extra, (*where, at, "extra_input_messages"))


def _contains_generate(loops: int) -> Schema:
    """Builders of which one asks the evaluated model, in so many loops within each other at most."""
    asking: list[Schema] = [of_type("generate")]
    if loops:
        inner: Schema = {"properties": {"message_builders": _contains_generate(loops - 1)}}
        asking.append(all_of(is_one("type", ["loop"]), inner))
    return {"anyOf": [{"type": "string"}, {"contains": {"anyOf": asking}}]}


@describes(SolverNeeds(turns="many"))
@part(
    "A conversation made by builders.",
    example="""\
type: multi_turn_solver
message_builders:
  - {type: chat_message, role: user, content: "{{ sample.wish }}"}
  - {type: generate}
  - {type: chat_message, role: user, content: Are you sure?}
  - {type: generate}
""",
    check=_problems,
    editor=({"properties": {"message_builders": _contains_generate(3)}},),
)
def multi_turn_solver(
    *,
    message_builders: Annotated[Sequence[MessageBuilder], Meta(min_length=1), Doc("What happens, in this order.")],
    generation: Generation = None,
    context: BuildContext = NO_CONTEXT,
) -> MultiTurn:
    """A conversation made by `chat_message`, `generate`, `generate_message`, `loop` and `load_trace` builders."""
    if not asks(message_builders):
        raise UsageError(f"multi_turn_solver: {NEVER_CALLED}")
    builders = _builders(message_builders, "definition.solver.message_builders", context)
    return MultiTurn(builders, settings_of(generation))


def _builders(specs: Sequence[MessageBuilder], where: str, context: BuildContext) -> list[Any]:
    return [_BUILDERS[str(spec["type"])](spec, f"{where}[{at}]", context) for at, spec in enumerate(specs)]


class _Terminating:
    """A builder that may end what it is part of, when the message it added includes a text."""

    def __init__(self, spec: Terminating, where: str, context: BuildContext) -> None:
        self.condition = spec.get("terminate_if")

    def stop_after(self, message: Message) -> _Stop | None:
        if self.condition is None or str(self.condition["includes"]) not in str(message.content):
            return None
        return _Stop(keep=bool(self.condition.get("keep_iteration", True)))


class _ChatMessage(_Terminating):
    def __init__(self, spec: ChatMessage, where: str, context: BuildContext) -> None:
        super().__init__(spec, where, context)
        self._role = str(spec["role"])
        self._content = FieldTemplate(
            spec["content"], field=f"{where}.content", stage="solver", part="multi_turn_solver", context=context
        )

    def message(self, conversation: _Conversation) -> Message:
        return Message(role=self._role, content=self._content.render(conversation.variables(), conversation.sample))

    async def run(self, conversation: _Conversation) -> _Stop | None:
        message = self.message(conversation)
        conversation.messages.append(message)
        return self.stop_after(message)


class _Generate(_Terminating):
    async def run(self, conversation: _Conversation) -> _Stop | None:
        if not conversation.messages:
            problem = "there is no message to send yet; a `chat_message` belongs before `generate`"
            raise _failure("bad_input", f"sample `{conversation.sample.id}`: {problem}")
        request = Request(messages=tuple(conversation.messages), **conversation.settings)
        completion = await conversation.model.generate(request)
        conversation.completions.append(completion)
        message = reply(completion)
        conversation.messages.append(message)
        conversation.answers.append(message)
        return self.stop_after(message)


class _GenerateMessage(_Terminating):
    """Another model speaks; instructions it gets beyond the conversation are not kept."""

    def __init__(self, spec: GenerateMessage, where: str, context: BuildContext) -> None:
        super().__init__(spec, where, context)
        self._model = context.model_behind(str(spec["model_key"]), spec.get("model"))
        self._extra = [
            _ChatMessage(extra, f"{where}.extra_input_messages[{at}]", context)
            for at, extra in enumerate(spec["extra_input_messages"])
        ]
        self._include = bool(spec.get("include_conversation", True))
        self._role: str | None = spec.get("output_role")

    async def run(self, conversation: _Conversation) -> _Stop | None:
        extra_messages = [extra.message(conversation) for extra in self._extra]
        before = conversation.messages if self._include else []
        if self._model is None:
            raise _failure("unsupported", "models can be called only during a run")
        completion = await self._model.generate(Request(messages=(*before, *extra_messages)))
        message = Message(role=self._role or "assistant", content=completion.text)
        conversation.messages.append(message)
        return self.stop_after(message)


class _Loop:
    """Repeats its builders until one of them stops it, or the maximum is reached."""

    condition = None

    def __init__(self, spec: Loop, where: str, context: BuildContext) -> None:
        self._where = where
        self._builders = _builders(spec["message_builders"], f"{where}.message_builders", context)
        self._max = int(spec.get("max_iterations", 10))
        # without a condition, reaching the maximum is the normal end
        may_stop = any(builder.condition is not None for builder in self._builders)
        self._error = may_stop and spec.get("on_max_iterations", "error") == "error"

    async def run(self, conversation: _Conversation) -> _Stop | None:
        outer = conversation.loop_index
        try:
            for index in range(self._max):
                conversation.loop_index = index
                if await self._iteration(conversation):
                    return None
        finally:
            conversation.loop_index = outer
        if self._error:
            raise _failure(
                "max_iterations",
                f"sample `{conversation.sample.id}`: {self._where}: not ended after {self._max} iterations",
            )
        return None

    async def _iteration(self, conversation: _Conversation) -> bool:
        """Once through the builders; true when one of them ended the loop."""
        before = len(conversation.messages)
        for builder in self._builders:
            stop = await builder.run(conversation)
            if stop is not None:
                if not stop.keep:
                    del conversation.messages[before:]
                return True
        return False


class _LoadTrace:
    """Puts a recorded conversation in."""

    condition = None

    def __init__(self, spec: LoadTrace, where: str, context: BuildContext) -> None:
        self._column = str(spec["trace_column"])

    async def run(self, conversation: _Conversation) -> _Stop | None:
        items = recorded_items(conversation.sample, self._column, "multi_turn_solver")
        conversation.messages.extend(Message(**message) for message in chat_messages(items))
        return None


_BUILDERS: dict[str, Any] = {
    "chat_message": _ChatMessage,
    "generate": _Generate,
    "generate_message": _GenerateMessage,
    "loop": _Loop,
    "load_trace": _LoadTrace,
}


def _failure(kind: str, message: str) -> FailureError:
    return FailureError(Failure(stage="solver", part="multi_turn_solver", kind=kind, message=message))
