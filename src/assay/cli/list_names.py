"""`assay list`: every name that a task file or a flag may use, by kind."""

from __future__ import annotations

import argparse

TASK_SETS = "task sets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="KIND|TASKS", help="metric, scorer, model, …, or task files")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    import msgspec

    from assay import catalog
    from assay.cli.main import DONE

    asked = [singular(word) for word in options.what]
    kinds = [word for word in asked if word in catalog.CATALOG]
    if options.what and len(kinds) < len(options.what):
        words = [word for word in options.what if singular(word) not in catalog.CATALOG]
        refuse_unknown(words)
        found = tasks_in(words)
    else:
        found = {
            kind: {name: first_line(kind, name) for name in catalog.names(kind)} for kind in kinds or catalog.CATALOG
        }
        if not kinds:
            found = {TASK_SETS: built_in(), **found}
    if options.json:
        print(msgspec.json.encode(found).decode())
        return DONE
    for kind, names in found.items():
        print(f"{kind}:")
        width = max((len(name) for name in names), default=0)
        for name, summary in names.items():
            print(f"  {name.ljust(width)}  {summary}".rstrip())
    return DONE


def refuse_unknown(words: list[str]) -> None:
    """A word that is neither a path nor a task set was meant as a kind."""
    from pathlib import Path

    from assay import catalog
    from assay.core.errors import UsageError
    from assay.tasks.load import BUILT_IN

    for word in words:
        if not Path(word).exists() and word not in BUILT_IN and "/" not in word and "." not in word:
            raise UsageError(catalog.unknown_name("kind or task set", word, [*catalog.CATALOG, *BUILT_IN]))


def tasks_in(sources: list[str]) -> dict[str, dict[str, str]]:
    from assay.tasks.load import load_tasks

    return {
        "tasks": {
            each.name: f"{each.dataset.size} samples, {each.metric}, {each.source}"
            for each in load_tasks(sources, allow_bad=True, only_reads=True)
        }
    }


def built_in() -> dict[str, str]:
    from assay.tasks.load import BUILT_IN

    return BUILT_IN


def singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def first_line(kind: str, name: str) -> str:
    """What the object's docstring says first; a part whose package is not installed says so."""
    from assay import catalog

    try:
        found = catalog.resolve(kind, name)
    except ImportError as error:
        return f"(needs {error.name})"
    text = (getattr(found, "__doc__", None) or "").strip()
    return " ".join(text.split("\n\n")[0].split())
