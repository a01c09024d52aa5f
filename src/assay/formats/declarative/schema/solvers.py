"""Solvers: how the model is called."""

from __future__ import annotations

from assay.formats.declarative.from_annotations import REFERENCED_KEY
from assay.formats.declarative.schema.fields import GENERATION, kind, kinds, mapping, snippet, template, text, word
from assay.formats.declarative.schema.together import ASKS_MODEL, FEW_SHOT, FEW_SHOT_INPUT
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    Later,
    ListOf,
    MapOf,
    Number,
    Report,
    Tagged,
    Text,
    mappings,
    require_one,
)
from assay.formats.declarative.yaml_reader import FieldPath
from assay.part_options import SAMPLE
from assay.solvers.multi_turn import NEVER_CALLED, asks

_ROLES = ("system", "user", "assistant", "developer")
_ROLE = Field(Text(words=_ROLES), doc="Who says it.")
_FORMAT = Field(Text(words=("latticeflow", "open_responses")), "latticeflow", "Both views are always available.")
_INPUT_MESSAGE = mapping(
    "an input message", "One message of the conversation.", role=_ROLE, content=template("What is said.")
)
INPUT_BUILDER = Tagged(
    "input builder",
    kinds(
        "{} input builder",
        {
            "generic": kind(
                "A template that renders to the JSON of the model's input.",
                template=template("Jinja text that renders to JSON."),
            ),
            "chat_completion": kind(
                "Messages whose contents are templates.",
                input_messages=Field(ListOf(_INPUT_MESSAGE, least=1), doc="The messages, in this order."),
            ),
        },
    ),
)
_TERMINATE = mapping(
    "a termination condition",
    "Ends the loop, or the conversation, when the new message includes a text.",
    includes=text("The text looked for."),
    keep_iteration=Field(Boolean(), True, "Whether the last turn of a loop stays in the conversation."),
)
_TERMINATE_IF = Field(_TERMINATE, None, "When to end the loop, or the conversation.")
_CONVERSATION = (*SAMPLE, "messages", "loop_index")


_BUILDERS = {
    "chat_message": kind(
        "Appends a rendered message.",
        role=_ROLE,
        content=template("Template; may read `sample`, `messages` and, in a loop, `loop_index`.", _CONVERSATION),
        terminate_if=_TERMINATE_IF,
    ),
    "generate": kind("Asks the evaluated model and appends its answer.", terminate_if=_TERMINATE_IF),
    "generate_message": kind(
        "Asks another model and appends its answer.",
        model_key=Field(REFERENCED_KEY, doc="The key of the other model."),
        extra_input_messages=Field(
            ListOf(Later(lambda: MESSAGE_BUILDER.choices["chat_message"]), least=1),
            doc="Its prompt after the conversation.",
        ),
        output_role=Field(Text(words=_ROLES), None, "The role of its answer; `assistant` when absent."),
        include_conversation=Field(Boolean(), True, "Whether it sees the conversation so far."),
        terminate_if=_TERMINATE_IF,
    ),
    "loop": kind(
        "Repeats its builders.",
        message_builders=Field(ListOf(Later(lambda: MESSAGE_BUILDER), least=1), doc="What is repeated."),
        max_iterations=Field(Number(whole=True, least=0), 10, "Maximum number of iterations."),
        on_max_iterations=Field(
            Text(words=("error", "continue")), "error", "What happens when no `terminate_if` ended it by then."
        ),
    ),
    "load_trace": kind(
        "Puts a recorded trace into the conversation.",
        trace_column=text("The column that contains it.", min_length=1),
    ),
}
MESSAGE_BUILDER: Tagged = Tagged("message builder", kinds("{} builder", _BUILDERS))


def _few_shot_rule(result: Fields, where: FieldPath, report: Report) -> None:
    require_one(result, ("dataset", "examples"), where, report, "few_shot")
    count, examples = result["count"], result["examples"]
    if result["dataset"] is not None and examples is None and count is None:
        report.wrong(where, "few_shot from a dataset needs `count`")
    if isinstance(count, int) and isinstance(examples, list) and count > len(examples):
        report.wrong((*where, "count"), f"{count:,} are wanted, and there are {len(examples):,} `examples`")


def _few_shot_input(result: Fields, where: FieldPath, report: Report) -> None:
    builder = result["input_builder"]
    if result["few_shot"] is not None and isinstance(builder, dict) and builder.get("type") != "chat_completion":
        report.wrong((*where, "few_shot"), "few-shot examples need an input builder of type `chat_completion`")


def _asks_model(result: Fields, where: FieldPath, report: Report) -> None:
    if isinstance(result["message_builders"], list) and not asks(mappings(result["message_builders"])):
        report.wrong((*where, "message_builders"), NEVER_CALLED)


_FEW_SHOT = mapping(
    "few-shot examples",
    "Rows that are sent, with their answers, before the question.",
    _few_shot_rule,
    FEW_SHOT,
    dataset=Field(
        mapping("a few-shot dataset", "Where examples come from.", key=Field(REFERENCED_KEY, doc="Its key.")),
        None,
        "A dataset in files, such as a training split.",
    ),
    examples=Field(ListOf(MapOf(Anything()), least=1), None, "The rows themselves."),
    count=Field(Number(whole=True, least=1), None, "How many; all of `examples` when absent."),
    seed=Field(Number(whole=True), None, "Draws them at random, the same for every sample; else the first."),
    style=Field(Text(words=("turns", "text")), "turns", "Turns of the conversation, or text before the question."),
    user=template("Template of an example's question; that of the last message when absent.", default=None),
    assistant=template("Template of an example's answer.", min_length=1),
)
_POSTPROCESSOR = Field(
    mapping(
        "a postprocessor",
        "The author's Python that splits an answer into parts before it is scored.",
        type=word("python"),
        postprocess_snippet=snippet(
            "postprocess", "`postprocess(sample, solver_output)` returns a list of pairs (sample, solver output)."
        ),
    ),
    None,
    "Splits answers into parts, each scored separately.",
)


_SOLVERS = {
    **kinds(
        "{}",
        {
            "single_turn_solver": kind(
                "One rendered input, one answer.",
                _few_shot_input,
                FEW_SHOT_INPUT,
                message_format=_FORMAT,
                input_builder=Field(INPUT_BUILDER, doc="The input of the model."),
                few_shot=Field(_FEW_SHOT, None, "Few-shot examples before the last message."),
                generation=GENERATION,
                postprocessor=_POSTPROCESSOR,
            ),
            "multi_turn_solver": kind(
                "A conversation made by builders.",
                _asks_model,
                ASKS_MODEL,
                message_format=_FORMAT,
                message_builders=Field(ListOf(MESSAGE_BUILDER, least=1), doc="What happens, in this order."),
                generation=GENERATION,
            ),
            "pass_through_solver": kind(
                "Uses the recorded trace in a column as the answer.",
                trace_column=text("The column.", min_length=1),
                message_format=_FORMAT,
            ),
            "choice_likelihood_solver": kind(
                "Asks how likely each choice is after the prompt; the model writes nothing.",
                prompt=template("Template of the text before a choice.", min_length=1),
                choices=template("Template of the list of choices.", min_length=1),
                separator=text("Between prompt and choice.", " "),
                system_prompt=template("Template; makes it a chat, in which a choice is the answer.", default=None),
                unconditional_prompt=text("The text before a choice when the question is left out.", ""),
            ),
            "text_likelihood_solver": kind(
                "Asks how likely a text is; the model writes nothing.",
                text=template("Template of the text that is scored.", min_length=1),
                prompt=template("Template of what is only read before it.", default=""),
                window=Field(Number(whole=True, least=0), 0, "Tokens per window; 0 is the model's context."),
                stride=Field(Number(whole=True, least=0), 0, "Tokens a window moves on; 0 is all but one."),
            ),
        },
    ),
    **kinds(
        "{} solver",
        {
            "python": kind(
                "The author's `async def run_solver(sample, model, trace)`.",
                run_solver_snippet=snippet("run_solver", "Asks `model`, returns `trace`."),
            ),
        },
    ),
}
SOLVER = Tagged(
    "solver",
    _SOLVERS,
    kind="solver",
    own=mapping("a solver", "A solver of an installed package or your own.", type=Field(Text())),
)

LIKELIHOOD_SOLVERS = {"choice_likelihood_solver": "choice_likelihood", "text_likelihood_solver": "text_likelihood"}
"""A solver that asks for likelihoods -> the scorer that reads what it found."""
