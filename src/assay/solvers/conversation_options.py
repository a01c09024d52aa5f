"""The options of solvers that are mappings: messages, builders of conversations, few-shot examples, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from assay.part_options import SAMPLE, Choice, Doc, InFiles, ModelKey, Problem, TemplateOption, part
from assay.schema_rules import given, implies

Role = Annotated[Literal["system", "user", "assistant", "developer"], Doc("Who says it.")]


@part(
    "How the model answers; what is left out is set by the run.",
    name="generation settings",
    example='{temperature: 0, max_tokens: 200, stop: ["\\n\\n"]}\n',
)
class GenerationSettings(TypedDict, total=False):
    """The settings of a request."""

    temperature: NotRequired[Annotated[float, Meta(ge=0), Doc("0 for the likeliest answer.")]]
    top_p: NotRequired[
        Annotated[float, Meta(gt=0), Doc("Nucleus sampling: the share of the likeliest tokens to sample from.")]
    ]
    max_tokens: NotRequired[Annotated[int, Meta(ge=1), Doc("The longest answer.")]]
    stop: NotRequired[
        Annotated[Sequence[Annotated[str, Meta(min_length=1)]], Meta(min_length=1), Doc("Texts that end the answer.")]
    ]
    seed: NotRequired[Annotated[int, Doc("Passed on to models that take one.")]]


GENERATION_DOC = Doc("How the model answers: `temperature`, `top_p`, `max_tokens`, `stop`, `seed`.")
Generation = Annotated[GenerationSettings | None, GENERATION_DOC]


@part(
    "One message of the conversation.",
    name="an input message",
    example='{role: user, content: "{{ sample.question }}"}\n',
)
class InputMessage(TypedDict):
    """A message whose content is a template."""

    role: Role
    content: Annotated[str, TemplateOption("What is said.")]


@part(
    "A template that renders to the JSON of the model's input.",
    example="""\
type: generic
template: |
  {"messages": [{"role": "user", "content": {{ sample.question | tojson }}}], "max_tokens": 1}
""",
)
class GenericInputBuilder(TypedDict):
    """One template."""

    type: Literal["generic"]
    template: Annotated[str, TemplateOption("Jinja text that renders to JSON.")]


@part(
    "Messages whose contents are templates.",
    example="""\
type: chat_completion
input_messages: [{role: user, content: "{{ sample.question }}"}]
""",
)
class ChatInputBuilder(TypedDict):
    """Several messages."""

    type: Literal["chat_completion"]
    input_messages: Annotated[Sequence[InputMessage], Meta(min_length=1), Doc("The messages, in this order.")]


InputBuilder = Annotated[
    GenericInputBuilder | ChatInputBuilder,
    Choice("input builder", "{} input builder", default="chat_completion"),
    Doc("The input of the model."),
]


@part("Where examples come from.", name="a few-shot dataset", example="{key: train}\n")
class FewShotDataset(TypedDict):
    """A dataset by its key."""

    key: Annotated[str, ModelKey("Its key.")]


def _enough_examples(options: Mapping[str, Any]) -> list[Problem]:
    count, examples = options["count"], options["examples"]
    if options["dataset"] is not None and examples is None and count is None:
        return [((), "few_shot from a dataset needs `count`")]
    if isinstance(count, int) and isinstance(examples, list) and count > len(examples):
        return [(("count",), f"{count:,} are wanted, and there are {len(examples):,} `examples`")]
    return []


@part(
    "Rows that are sent, with their answers, before the question.",
    name="few-shot examples",
    example='{dataset: {key: train}, count: 4, seed: 7, assistant: "{{ sample.answer }}"}\n',
    one_of=(("dataset", "examples"),),
    check=_enough_examples,
    editor=(implies(given("dataset"), given("count")),),
)
class FewShotOptions(TypedDict):
    """Examples from a dataset, or their rows."""

    dataset: NotRequired[Annotated[FewShotDataset, Doc("A dataset in files, such as a training split.")]]
    examples: NotRequired[Annotated[Sequence[Mapping[str, Any]], Meta(min_length=1), Doc("The rows themselves.")]]
    count: NotRequired[Annotated[int, Meta(ge=1), Doc("How many; all of `examples` when absent.")]]
    seed: NotRequired[Annotated[int, Doc("Draws them at random, the same for every sample; else the first.")]]
    style: NotRequired[
        Annotated[
            Literal["turns", "text"],
            Doc("Turns of the conversation, or text before the question."),
            InFiles("turns"),
        ]
    ]
    user: NotRequired[
        Annotated[str, TemplateOption("Template of an example's question; that of the last message when absent.")]
    ]
    assistant: Annotated[str, Meta(min_length=1), TemplateOption("Template of an example's answer.")]


@part(
    "Ends the loop, or the conversation, when the new message includes a text.",
    name="a termination condition",
    example="{includes: DONE, keep_iteration: true}\n",
)
class Termination(TypedDict):
    """A text that ends something."""

    includes: Annotated[str, Doc("The text looked for.")]
    keep_iteration: NotRequired[
        Annotated[bool, Doc("Whether the last turn of a loop stays in the conversation."), InFiles(True)]
    ]


class Terminating(TypedDict):
    """What builders have that may end what they are part of."""

    terminate_if: NotRequired[Annotated[Termination, Doc("When to end the loop, or the conversation.")]]


_BUILDER = Choice("message builder", "{} builder")


@part("Appends a rendered message.", example='role: user, content: "{{ sample.question }}"')
class ChatMessage(Terminating):
    """A message of the script."""

    type: Literal["chat_message"]
    role: Role
    content: Annotated[
        str,
        TemplateOption(
            "Template; may read `sample`, `messages` and, in a loop, `loop_index`.", (*SAMPLE, "messages", "loop_index")
        ),
    ]


@part("Asks the evaluated model and appends its answer.", example="terminate_if: {includes: DONE}")
class Generate(Terminating):
    """An answer of the evaluated model."""

    type: Literal["generate"]


@part(
    "Asks another model and appends its answer.",
    example="""\
type: generate_message
model_key: customer
output_role: user
extra_input_messages:
  - {type: chat_message, role: system, content: "You are a customer from {{ sample.city }}."}
""",
)
class GenerateMessage(Terminating):
    """An answer of another model."""

    type: Literal["generate_message"]
    model_key: Annotated[str, ModelKey("The key of the other model.")]
    extra_input_messages: Annotated[
        Sequence[Annotated[ChatMessage, _BUILDER]], Meta(min_length=1), Doc("Its prompt after the conversation.")
    ]
    output_role: NotRequired[
        Annotated[
            Literal["system", "user", "assistant", "developer"],
            Doc("The role of its answer; `assistant` when absent."),
        ]
    ]
    include_conversation: NotRequired[Annotated[bool, Doc("Whether it sees the conversation so far."), InFiles(True)]]
    model: NotRequired[Mapping[str, Any]]
    """What is behind the key."""


@part(
    "Repeats its builders.",
    example="""\
type: loop
max_iterations: 3
message_builders:
  - {type: generate, terminate_if: {includes: DONE}}
  - {type: chat_message, role: user, content: "Go on; this was turn {{ loop_index }}."}
""",
)
class Loop(TypedDict):
    """Builders, several times."""

    type: Literal["loop"]
    message_builders: Annotated[Sequence[MessageBuilder], Meta(min_length=1), Doc("What is repeated.")]
    max_iterations: NotRequired[Annotated[int, Meta(ge=0), Doc("Maximum number of iterations."), InFiles(10)]]
    on_max_iterations: NotRequired[
        Annotated[
            Literal["error", "continue"],
            Doc("What happens when no `terminate_if` ended it by then."),
            InFiles("error"),
        ]
    ]


@part("Puts a recorded trace into the conversation.", example="trace_column: trace")
class LoadTrace(TypedDict):
    """A recorded conversation."""

    type: Literal["load_trace"]
    trace_column: Annotated[str, Meta(min_length=1), Doc("The column that contains it.")]


MessageBuilder = Annotated[ChatMessage | Generate | GenerateMessage | Loop | LoadTrace, _BUILDER]
