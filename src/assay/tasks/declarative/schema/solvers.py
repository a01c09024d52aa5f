"""Solvers: how the model is asked."""

from __future__ import annotations

from assay.tasks.declarative.schema.fields import REFERENCED_KEY, text, word
from assay.tasks.declarative.shape import (
    Anything,
    Either,
    Field,
    Later,
    ListOf,
    Number,
    Shape,
    Shaped,
    Tagged,
    Text,
    Truth,
)

_FORMAT = Field(Text(words=("latticeflow", "open_responses")), "latticeflow", "Both views are always available.")
_INPUT_MESSAGE = Shaped(
    "an input message",
    "One message of the conversation.",
    {"role": Field(Text(words=("system", "user", "assistant", "developer"))), "content": text("Template.")},
)
INPUT_BUILDER = Tagged(
    "input builder",
    {
        "generic": Shaped(
            "a generic input builder",
            "A template that renders to the JSON of the model's input.",
            {"type": word("generic"), "template": text("Jinja text that renders to JSON.")},
        ),
        "chat_completion": Shaped(
            "a chat_completion input builder",
            "Messages whose contents are templates.",
            {"type": word("chat_completion"), "input_messages": Field(ListOf(_INPUT_MESSAGE, least=1))},
        ),
    },
)
_TERMINATE = Shaped(
    "a termination condition",
    "Ends the loop, or the conversation, when the new message includes a text.",
    {"includes": text("The text looked for."), "keep_iteration": Field(Truth(), True)},
)
_TERMINATE_IF = Field(_TERMINATE, None)
_CHAT_MESSAGE = Shaped(
    "a chat_message builder",
    "Appends a rendered message.",
    {
        "type": word("chat_message"),
        "role": Field(Text(words=("system", "user", "assistant", "developer"))),
        "content": text("Template; may read `sample`, `messages` and, in a loop, `loop_index`."),
        "terminate_if": _TERMINATE_IF,
    },
)
_LOOP = Shaped(
    "a loop builder",
    "Repeats its builders.",
    {
        "type": word("loop"),
        "message_builders": Field(ListOf(Later("message builder", lambda: MESSAGE_BUILDER), least=1)),
        "max_iterations": Field(Number(whole=True, least=0), 10),
        "on_max_iterations": Field(Text(words=("error", "continue")), "error"),
    },
)
MESSAGE_BUILDER: Shape = Tagged(
    "message builder",
    {
        "chat_message": _CHAT_MESSAGE,
        "generate": Shaped(
            "a generate builder",
            "Asks the evaluated model and appends its answer.",
            {"type": word("generate"), "terminate_if": _TERMINATE_IF},
        ),
        "generate_message": Shaped(
            "a generate_message builder",
            "Asks another model and appends its answer.",
            {
                "type": word("generate_message"),
                "model_key": Field(REFERENCED_KEY),
                "extra_input_messages": Field(ListOf(Either(Anything(), _CHAT_MESSAGE), least=1)),
                "output_role": Field(Text(words=("system", "user", "assistant", "developer")), None),
                "include_conversation": Field(Truth(), True),
                "terminate_if": _TERMINATE_IF,
            },
        ),
        "loop": _LOOP,
        "load_trace": Shaped(
            "a load_trace builder",
            "Puts a recorded trace into the conversation.",
            {"type": word("load_trace"), "trace_column": text(min_length=1)},
        ),
    },
)
SOLVER = Tagged(
    "solver",
    {
        "single_turn_solver": Shaped(
            "a single_turn_solver",
            "One rendered input, one answer.",
            {"type": word("single_turn_solver"), "message_format": _FORMAT, "input_builder": Field(INPUT_BUILDER)},
        ),
        "multi_turn_solver": Shaped(
            "a multi_turn_solver",
            "A conversation made by builders.",
            {
                "type": word("multi_turn_solver"),
                "message_format": _FORMAT,
                "message_builders": Field(ListOf(MESSAGE_BUILDER, least=1)),
            },
        ),
        "pass_through_solver": Shaped(
            "a pass_through_solver",
            "Takes the recorded trace in a column as the answer.",
            {"type": word("pass_through_solver"), "trace_column": text(min_length=1), "message_format": _FORMAT},
        ),
        "choice_likelihood_solver": Shaped(
            "a choice_likelihood_solver",
            "Asks how likely each choice is after the prompt; the model writes nothing.",
            {
                "type": word("choice_likelihood_solver"),
                "prompt": text("Template of what stands before a choice.", min_length=1),
                "choices": text("Template of the list of choices.", min_length=1),
                "separator": text("Between prompt and choice.", " "),
                "system_prompt": text("Template; makes it a chat, in which a choice is the answer.", None),
                "unconditional_prompt": text("What stands before a choice without the question.", ""),
            },
        ),
        "text_likelihood_solver": Shaped(
            "a text_likelihood_solver",
            "Asks how likely a text is; the model writes nothing.",
            {
                "type": word("text_likelihood_solver"),
                "text": text("Template of the text that is scored.", min_length=1),
                "prompt": text("Template of what is only read before it.", ""),
                "window": Field(Number(whole=True, least=0), 0, "Tokens per window; 0 is the model's context."),
                "stride": Field(Number(whole=True, least=0), 0, "Tokens a window moves on; 0 is all but one."),
            },
        ),
        "python": Shaped(
            "a python solver",
            "The author's `async def run_solver(sample, model, trace)`.",
            {"type": word("python"), "run_solver_snippet": text(min_length=1)},
        ),
    },
)

LIKELIHOOD_SOLVERS = {"choice_likelihood_solver": "choice_likelihood", "text_likelihood_solver": "text_likelihood"}
"""A solver that asks for likelihoods -> the scorer that reads what it found."""
