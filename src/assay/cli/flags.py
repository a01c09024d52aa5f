"""The kinds of flags that every subcommand has: given or not, with a value, one of a few words, or given repeatedly."""

from __future__ import annotations

from argparse import Action, Namespace
from argparse import _ActionsContainer as Parser
from collections.abc import Callable, Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.overriding import override


def switch(parser: Parser, name: str, meaning: str, *, needs: str | None = None) -> None:
    note_need(parser.add_argument(name, action="store_true", help=meaning), needs)


def option(
    parser: Parser,
    flag: str,
    meaning: str,
    kind: Callable[[str], Any] = str,
    default: Any = None,
    *,
    needs: str | None = None,
) -> None:
    """`flag` is the name and what its value is called, as in `--limit N`; `needs` is another flag, such as
    `--executor ray` or `--a or --b`, without which it would have no effect."""
    name, metavar = flag.split(" ")
    action = parser.add_argument(name, type=kind, default=default, metavar=metavar, help=meaning)
    note_need(action, needs)


def choice(parser: Parser, name: str, choices: Sequence[str], meaning: str) -> None:
    """One of a few words; the first is the default."""
    parser.add_argument(name, choices=choices, default=choices[0], help=meaning)


def repeated(parser: Parser, flag: str, meaning: str, *, needs: str | None = None) -> None:
    name, metavar = flag.split(" ")
    note_need(parser.add_argument(name, action="append", default=[], metavar=metavar, help=meaning), needs)


class Noting(Action):
    """Notes on the namespace that its flag was given, and knows which other flag it needs."""

    needs: str | None = None

    @override
    def __call__(self, parser: Any, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        given_flags(namespace)[self.dest] = self
        super().__call__(parser, namespace, values, option_string)


def given_flags(options: Namespace) -> dict[str, Noting]:
    """The flags that were given, by their destinations, also where their values are the defaults."""
    given: dict[str, Noting] = vars(options).setdefault("given_flags", {})
    return given


def register_noting(parser: Parser) -> None:
    """Let the parser's ordinary actions note that they were given."""
    for name in (None, "store", "store_true", "store_false", "append"):
        kind = parser._registry_get("action", name)
        parser.register("action", name, type(kind.__name__, (Noting, kind), {}))


def refuse_unmet_needs(options: Namespace) -> None:
    """`UsageError` for a flag that was given without the one it needs."""
    for action in given_flags(options).values():
        if action.needs and not any(_is_there(options, part) for part in action.needs.split(" or ")):
            raise UsageError(
                f"{action.option_strings[0]} has no effect without {action.needs}; add that, or leave it out"
            )


def _is_there(options: Namespace, needed: str) -> bool:
    name, _, value = needed.partition(" ")
    present = vars(options).get(name.removeprefix("--").replace("-", "_"))
    return present == value if value else bool(present)


def note_need(action: Action, needs: str | None) -> None:
    if isinstance(action, Noting):
        action.needs = needs
