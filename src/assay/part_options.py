"""What a part says about its options in addition to their Python types, for files, editors, help and reference.

A factory's parameter is an option in files when its annotation is `Annotated` with a `Doc` (or a marker that has one):
its type, limits (`msgspec.Meta`) and default are those of the signature. `part` says what the whole is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import UNSET

SAMPLE = ("sample",)
"""What a template of a sample may read."""
ANSWER = (*SAMPLE, "solver_output", "model_output", "messages", "input_prompt", "trace", "model_outputs")
"""What a template about an answer may read."""

Problem = tuple[tuple[str | int, ...], str]
"""What is wrong with options: the place inside of them, and a sentence."""
Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Doc:
    """What an option is for, in one sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class TemplateOption(Doc):
    """A text, or data whose texts, are Jinja; `reads` are the names that it may read."""

    reads: tuple[str, ...] = SAMPLE


@dataclass(frozen=True, slots=True)
class PythonOption(Doc):
    """The author's Python, which defines this function."""

    function: str


@dataclass(frozen=True, slots=True)
class ModelKey(Doc):
    """The key of another model, or of a dataset."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression."""


@dataclass(frozen=True, slots=True)
class Words:
    """One of these words, where they are computed; else write `Literal`."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InFiles:
    """Where a file's default is not Python's: another default, or none."""

    default: Any = UNSET


@dataclass(frozen=True, slots=True)
class OldName:
    """A deprecated option in place of this one: `read` makes the new value out of the old."""

    name: str
    read: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PartInfo:
    """What a part is, an example of it in YAML, and the rules between its options."""

    doc: str
    example: str = ""
    """The fields other than `type` in one line, or the whole in several."""
    one_of: tuple[tuple[str, ...], ...] = ()
    """Options of which exactly one is given."""
    check: Callable[[Mapping[str, Any]], list[Problem]] | None = None
    editor: tuple[dict[str, Any], ...] = field(default=())
    """What a JSON Schema can express of `check`."""


def part(
    doc: str,
    *,
    example: str = "",
    one_of: tuple[tuple[str, ...], ...] = (),
    check: Callable[[Mapping[str, Any]], list[Problem]] | None = None,
    editor: tuple[dict[str, Any], ...] = (),
) -> Callable[[Made], Made]:
    """Say what a factory makes; the factory itself is unchanged."""
    info = PartInfo(doc, example, one_of, check, editor)

    def said(factory: Made) -> Made:
        factory.part_info = info  # type: ignore[attr-defined]  # read by `info_of`
        return factory

    return said


def info_of(factory: Any) -> PartInfo | None:
    """What a factory says of itself, by its own decorator and not that of a base class."""
    info = vars(factory).get("part_info")
    return info if isinstance(info, PartInfo) else None
