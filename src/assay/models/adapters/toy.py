"""The toy model: a deterministic pattern matcher that answers every starter task, for first runs and for tests.

It looks only at how a prompt begins: `compute:`, `summarize:`, `python:`, `choose:` or `write:`. Any other prompt is
returned. It comes in both shapes a model may have: `ToyAdapter`, texts in and texts out, and `ToyModel`.
"""

from __future__ import annotations

import ast
import hashlib
import math
import operator
import re
from collections.abc import Callable, Sequence

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Failure, Request

_MAX_EXPRESSION_CHARACTERS = 500
_MAX_BITS = 4096
_MAX_EXPONENT = 64
_DIMENSIONS = 256

_ARITHMETIC = re.compile(r"[0-9.+\-*/%() \t]+")
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)", re.DOTALL)
_LETTERED_CHOICE = re.compile(r"\b([A-E])[).:]")
_LETTER = re.compile(r"\b([A-E])\b")

_FUNCTIONS = {
    "doubl": "def f(x):\n    return x * 2\n",
    "increment": "def f(x):\n    return x + 1\n",
    "squar": "def f(x):\n    return x * x\n",
}


class ToyAdapter:
    """The toy model as the smallest possible adapter."""

    name = "toy"

    def generate(self, prompts: Sequence[str]) -> list[str]:
        return [answer(prompt) for prompt in prompts]


class ToyModel:
    """The toy model as a native model."""

    name = "toy"
    offers = ModelOffers(cacheable=True, embeddings=True, applies=())

    async def generate(self, request: Request) -> Completion:
        if request.continuation is not None:
            raise FailureError(
                Failure(stage="model", kind="unsupported", part=self.name, message="the toy model cannot score a text")
            )
        if request.embed:
            return Completion(text="", embedding=embedding(request.text()))
        return Completion(text=answer(_question(request)), finish_reason="stop")


def make(argument: str | None = None) -> ToyModel:
    """The model `toy`: answers every starter task by simple rules, without a server or a key."""
    if argument:
        raise UsageError(f"`toy` takes no argument, got `toy:{argument}`; write `--model toy`")
    return ToyModel()


def answer(prompt: str) -> str:
    """The toy model's answer to a prompt: a pure function of the text."""
    word, colon, rest = prompt.strip().partition(":")
    respond = _RESPONSES.get(word.lower()) if colon else None
    return prompt if respond is None else respond(rest.strip())


def embedding(text: str) -> tuple[float, ...]:
    """The counts of the text's hashed trigrams of letters: spelling, not meaning."""
    counts = [0.0] * _DIMENSIONS
    letters = f"  {' '.join(text.lower().split())} "
    for at in range(len(letters) - 2):
        counts[hashlib.blake2b(letters[at : at + 3].encode("utf-8", "replace"), digest_size=1).digest()[0]] += 1
    return tuple(counts)


def _question(request: Request) -> str:
    questions = [message for message in request.messages or () if message.role == "user"]
    return str(questions[-1].content) if questions else request.text()


def _compute(expression: str) -> str:
    if len(expression) > _MAX_EXPRESSION_CHARACTERS or not _ARITHMETIC.fullmatch(expression):
        return expression
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return expression
    return str(int(value)) if value == int(value) else str(value)


def _value(node: ast.expr) -> int | float:
    """Walk an expression of numbers and operators; nothing is ever evaluated as code."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > _MAX_EXPONENT:
            raise ValueError("the exponent is too large")
        return _bounded(_BINARY[type(node.op)](left, right))
    raise ValueError("not arithmetic")


def _bounded(value: object) -> int | float:
    # a bound on every intermediate value keeps the next operation small, too
    if isinstance(value, int) and value.bit_length() <= _MAX_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError("too large, or not a real number")


_UNARY: dict[type, Callable[..., int | float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_BINARY: dict[type, Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _first_sentence(text: str) -> str:
    match = _SENTENCE.match(text)
    return match[0] if match else text


def _function(description: str) -> str:
    return next((code for stem, code in _FUNCTIONS.items() if stem in description.lower()), description)


def _choice(question: str) -> str:
    """The letter before the first `|`: a choice's own letter where there is one, else the last letter on its own."""
    before = question.partition("|")[0]
    letters = _LETTERED_CHOICE.findall(before) or _LETTER.findall(before)
    return letters[-1] if letters else question


_RESPONSES: dict[str, Callable[[str], str]] = {
    "compute": _compute,
    "summarize": _first_sentence,
    "python": _function,
    "choose": _choice,
    "write": str,
}
