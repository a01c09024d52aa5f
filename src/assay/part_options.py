"""What a part says about its options in addition to their Python types, for files, editors, help and reference.

A factory's parameter is an option in files when its annotation is `Annotated` with a `Doc` (or a marker that has one):
its type, limits (`msgspec.Meta`) and default are those of the signature. The same is true of the fields of a
`TypedDict` or a record, for options that are mappings. `part` says what the whole is.
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
    arguments: tuple[str, ...]
    """What it is called with, in this order."""
    fewest: int | None = None
    """How many of them, from the left, it has to take; None: all."""


@dataclass(frozen=True, slots=True)
class ModelKey(Doc):
    """The key of another model, or of a dataset."""


@dataclass(frozen=True, slots=True)
class ValueName(Doc):
    """The name of a value that the scores of a scorer hold; a `numeric` one may not be a label."""

    numeric: bool = False


@dataclass(frozen=True, slots=True)
class PathOption(Doc):
    """The path of a file or a folder, relative to the file that names it; `named` is what files call the option."""

    named: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """What files call the option."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A mapping of one of several kinds, which a word in it chooses."""

    what: str
    """What messages call the choice: `message builder`."""
    called: str
    """What they call a mapping of a kind: `{} builder`."""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression."""


@dataclass(frozen=True, slots=True)
class Words:
    """One of these words, where they are computed; else write `Literal`."""

    words: tuple[str, ...]
    kind: str = ""
    """The kind of part that they name: what installed packages publish of it is taken too."""


@dataclass(frozen=True, slots=True)
class InFiles:
    """Where a file's default is not Python's: another default, or none."""

    default: Any = UNSET


@dataclass(frozen=True, slots=True)
class Placeholders:
    """Where a text to be filled in later, such as `<< config.x >>`, may stand."""

    whole: bool = True
    """In place of the value."""
    inside: bool = False
    """Anywhere in it: this is what parameters are for."""


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
    name: str = ""
    """What messages call it, with its article; empty where that follows from its type."""
    one_of: tuple[tuple[str, ...], ...] = ()
    """Options of which exactly one is given."""
    any_of: tuple[str, ...] = ()
    """Options of which one is given, or several."""
    check: Callable[[Mapping[str, Any]], list[Problem]] | None = None
    editor: tuple[dict[str, Any], ...] = field(default=())
    """What a JSON Schema can express of `check`."""


def part(
    doc: str,
    *,
    example: str = "",
    name: str = "",
    one_of: tuple[tuple[str, ...], ...] = (),
    any_of: tuple[str, ...] = (),
    check: Callable[[Mapping[str, Any]], list[Problem]] | None = None,
    editor: tuple[dict[str, Any], ...] = (),
) -> Callable[[Made], Made]:
    """Say what a factory makes, or what a mapping is; neither is changed."""
    info = PartInfo(doc, example, name, one_of, any_of, check, editor)

    def said(factory: Made) -> Made:
        factory.part_info = info  # type: ignore[attr-defined]  # read by `info_of`
        return factory

    return said


def info_of(factory: Any) -> PartInfo | None:
    """What a factory says of itself, by its own decorator and not that of a base class."""
    info = vars(factory).get("part_info") if hasattr(factory, "__dict__") else None
    return info if isinstance(info, PartInfo) else None
