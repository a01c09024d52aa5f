"""Untrusted YAML: nesting depth and the expansion of aliases are bounded before any value is built."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from assay.core.errors import UsageError

MAX_DEPTH = 100
MAX_NODES = 500_000
TEXT_PER_NODE = 64
"""Every so many characters of text count as another value: aliases can repeat long texts too."""


def load_yaml(text: str, name: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader] = yaml.CSafeLoader) -> Any:
    """The value of a document as `loader` builds it; None when it is empty. Errors begin with `name`."""
    node = composed(text, name, loader)
    if node is None:
        return None
    check_expansion(node, name)
    try:
        return loader("").construct_document(node)
    except yaml.YAMLError as error:
        raise not_yaml(error, name) from error
    except (ValueError, TypeError, OverflowError) as error:  # numbers that are too long, days that do not exist
        raise UsageError(f"{name}: a value cannot be read: {error}") from error


def composed(text: str, name: str, loader: Any) -> yaml.Node | None:
    """The node tree of one document, after a check of its depth and size: composing recurses and holds all of it, the
    check does neither."""
    try:
        depth, documents = 0, 0
        for number, event in enumerate(yaml.parse(text, Loader=loader)):
            if number > 2 * MAX_NODES:  # a list or mapping has two events
                raise UsageError(f"{name}: more than {MAX_NODES:,} values; the file is refused")
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                depth += 1
                if depth > MAX_DEPTH:
                    raise UsageError(f"{name}:{_line(event)}:1: nested more than {MAX_DEPTH} levels deep")
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                depth -= 1
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise UsageError(f"{name}:{_line(event)}:1: a second document begins here; a file holds one")
        return yaml.compose(text, Loader=loader)  # type: ignore[no-any-return,no-untyped-call,unused-ignore]
    except yaml.YAMLError as error:
        raise not_yaml(error, name) from error


def weight(node: yaml.Node) -> int:
    """What a node counts against `MAX_NODES`, each time that an alias repeats it."""
    return 1 + len(node.value) // TEXT_PER_NODE if isinstance(node, yaml.ScalarNode) else 1


def not_yaml(error: yaml.YAMLError, name: str) -> UsageError:
    mark = getattr(error, "problem_mark", None)
    place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark is not None else f"{name}:1:1"
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return UsageError(f"{place}: not valid YAML: {problem}")


def check_expansion(node: yaml.Node, name: str) -> None:
    """Refuse what aliases would expand to something large or deep, which each node is counted once for; a cycle is too
    deep."""
    sizes: dict[int, tuple[int, int]] = {}
    """How many nodes and levels each node is, by identity."""
    begun: set[int] = set()
    left = [node]
    while left:
        at = left[-1]
        parts = _parts(at)
        if id(at) in sizes:
            left.pop()
        elif id(at) not in begun:
            begun.add(id(at))
            waiting = [part for part in parts if id(part) not in sizes]
            if any(id(part) in begun for part in waiting):
                raise _too_deep(at, name)
            left += waiting
        else:
            nodes = weight(at) + sum(sizes[id(part)][0] for part in parts)
            depth = 1 + max((sizes[id(part)][1] for part in parts), default=0)
            if nodes > MAX_NODES:
                raise UsageError(
                    f"{_place(at, name)}: more than {MAX_NODES:,} values with its aliases expanded; the file is refused"
                )
            if depth > MAX_DEPTH:
                raise _too_deep(at, name)
            sizes[id(at)] = nodes, depth


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """The nodes inside a node; the keys of a mapping only where they hold more."""
    if isinstance(node, yaml.MappingNode):
        return [part for key, value in node.value for part in (key, value)[isinstance(key, yaml.ScalarNode) :]]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _too_deep(node: yaml.Node, name: str) -> UsageError:
    return UsageError(f"{_place(node, name)}: nested more than {MAX_DEPTH} levels deep with its aliases expanded")


def _place(node: yaml.Node, name: str) -> str:
    mark = node.start_mark
    return name if mark is None else f"{name}:{mark.line + 1}:{mark.column + 1}"


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


class Yaml12Loader(yaml.CSafeLoader):
    """The C loader with YAML 1.2's core schema: `no` is a text, `010` is ten."""


Yaml12Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    Yaml12Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})\Z"), _first)

CORE_SCHEMA: dict[str, Callable[[str], bool | int | float | None]] = {
    "tag:yaml.org,2002:null": lambda text: None,
    "tag:yaml.org,2002:bool": lambda text: text.lower() == "true",
    "tag:yaml.org,2002:int": lambda text: int(text, 0) if text[:2] in ("0x", "0o") else int(text),
    "tag:yaml.org,2002:float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
}
"""Tag -> the value of a scalar's text."""


def _scalar(loader: Any, node: yaml.Node) -> Any:
    return CORE_SCHEMA[node.tag](str(node.value))


for _tag in CORE_SCHEMA:
    Yaml12Loader.add_constructor(_tag, _scalar)
