"""Which source claims a path or a name, and how it is called.

The sources that come with assay are looked up first, so that an ordinary run never searches what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from assay import catalog
from assay.core.errors import AssayError, UsageError
from assay.core.regular_file import open_regular
from assay.formats.json_lines import begins_like_rows
from assay.formats.shots import Shots
from assay.formats.task_source import ClaimsByContent, LoadedTask, SourceContext, TaskSource, UsesData, UsesShots
from assay.text.tracebacks import describe_exception
from assay.text.wording import nearest

KIND = "source"
_PROMPTFOO = re.compile(
    rb"prompts\b[\s\S]*(providers|targets|tests|defaultTest|scenarios|redteam)|"
    rb"(providers|targets|tests|defaultTest|scenarios|redteam)\b[\s\S]*prompts\b"
)
BY_CONTENT: dict[str, tuple[tuple[str, ...], Callable[[bytes], object]]] = {
    "promptfoo": ((".yaml", ".yml", ".json"), _PROMPTFOO.search),
    "table": ((".csv", ".tsv", ".parquet", ".xlsx", ".json", ".jsonl"), begins_like_rows),
}
"""Sources that share their endings with another: what a file begins like before the source itself is called."""
_OF_SEVERAL = (".yaml", ".yml", ".json", ".jsonl")
"""Endings of files that several sources read."""
_LONGEST = 1 << 20


def source_named(text: str) -> str | None:
    """The source that claims a name such as `lm-eval:piqa`; None for files, folders and built-in task sets."""
    prefix, colon, _ = text.partition(":")
    if not colon or not prefix or Path(text).exists():
        return None
    if prefix in catalog.CATALOG[KIND] or catalog.is_name(KIND, prefix):
        return prefix
    if "/" not in prefix and "." not in prefix and (near := nearest(prefix, _prefixes())):
        raise UsageError(f"{text}: no such file or folder, and no source of tasks. Did you mean `{near}:`?")
    return None


def _prefixes() -> list[str]:
    by_content = BY_CONTENT.keys()
    return [name for name in catalog.names(KIND) if not name.startswith(".") and name not in by_content]


def source_of_file(path: Path, options: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The source that claims a file: one whose options were given, else by its content, else by its ending."""
    for name, (endings, may_claim) in BY_CONTENT.items():
        if path.suffix not in endings:
            continue
        alone = path.suffix not in _OF_SEVERAL
        if alone or options.get(name) or path.name.startswith(name) or may_claim(_head(path)):
            source = source_called(name)
            if isinstance(source, ClaimsByContent) and source.claims(path):
                return name
    return path.suffix if path.suffix and catalog.is_name(KIND, path.suffix) else None


def _head(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(_LONGEST)


@cache
def source_called(name: str) -> TaskSource:
    """The source with this name; `UsageError` where two packages claim it."""
    owners = catalog.publishers(KIND, name)
    if len(owners) > 1:
        raise UsageError(f"two packages claim `{name}`: {' and '.join(owners)}. Uninstall one of them")
    with _named_where_broken(name):
        source: TaskSource = catalog.resolve(KIND, name)()
        with suppress(msgspec.ValidationError):  # of an option that must be given
            msgspec.convert({}, source.Options)
        return source


@contextmanager
def _named_where_broken(name: str) -> Iterator[None]:
    """Name the package whose code raises something else than a sentence for the user."""
    try:
        yield
    except Exception as error:
        if isinstance(error, AssayError) or name in catalog.CATALOG[KIND]:
            raise
        packages = " and ".join(catalog.publishers(KIND, name))
        raise UsageError(
            f"the task source `{name}` of the package {packages} broke: {describe_exception(error)}"
        ) from error


def read_claimed(
    name: str, text: str, context: SourceContext, options: Mapping[str, Mapping[str, Any]]
) -> list[LoadedTask]:
    """The tasks that the source of this name reads from what it claims."""
    source = source_called(name)
    if not isinstance(source, UsesShots):
        refuse_shots(context.shots, text)
    record = options_of(name, options)
    with _named_where_broken(name):
        tasks = source.read(text, record, context)
        return [task if isinstance(task, LoadedTask) else LoadedTask(task) for task in tasks]


def refuse_shots(shots: Shots, text: str) -> None:
    """A file of another program says itself which few-shot examples it has."""
    if shots.wants_examples or shots.count == 0:
        raise UsageError(f"{shots.flags}: {text} has few-shot examples of its own, or none")


def options_of(name: str, given: Mapping[str, Mapping[str, Any]]) -> Any:
    """The options record of a source; `UsageError` names the flag whose value it does not take."""
    record = source_called(name).Options
    fields = {field.name: field for field in msgspec.structs.fields(record)}
    for option, value in given.get(name, {}).items():
        if option not in fields:
            raise UsageError(catalog.unknown_name(f"option of the source `{name}`", option, fields))
        try:
            msgspec.convert(value, fields[option].type, strict=False)
        except msgspec.ValidationError as error:
            wanted = f"must be {' or '.join(words)}" if (words := _words(fields[option].type)) else _lowered(str(error))
            raise UsageError(f"{flag_of(name, option)} {value}: {wanted}") from error
    return msgspec.convert(dict(given.get(name, {})), record, strict=False)


def _words(annotation: Any) -> list[str]:
    """The words that an option takes; none where it takes something else."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in _words(part)]


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def flag_of(name: str, option: str) -> str:
    """The flag of a source's option; a source of a package has its name in front."""
    own = "" if name in catalog.CATALOG[KIND] else f"{name.lstrip('.')}-"
    return f"--{own}{option.replace('_', '-')}"


def refuse_unclaimed(claimed: Sequence[str], data: Mapping[str, str], options: Mapping[str, Mapping[str, Any]]) -> None:
    """`UsageError` for settings of sources that none of these tasks is from."""
    for name, given in options.items():
        if given and name not in claimed:
            keywords = given.get("by_keywords", False)
            flags = ", ".join(
                f"{option}=" if keywords else flag_of(name, option) for option in given if option != "by_keywords"
            )
            raise UsageError(f"{flags}: only for {name.lstrip('.')} tasks: {_written(name)}")
    if data and not any(isinstance(source_called(name), UsesData) for name in claimed):
        raise UsageError("--data: only for tasks of other programs: `lm-eval:`, `inspect:` and `openai-evals:` take it")


def _written(name: str) -> str:
    if name in BY_CONTENT:
        return f"files that end in {', '.join(BY_CONTENT[name][0])}"
    return f"files that end in {name}" if name.startswith(".") else f"`{name}:NAME`"
