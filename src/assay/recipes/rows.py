"""The rows of a recipe's tasks: records of the source files, put into the recipe's templates."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined, UndefinedError

from assay.metrics.extraction import plain_number
from assay.recipes.choices import letter_at, lettered
from assay.recipes.recipe import Recipe, RecipeSettings, Row
from assay.recipes.sources import Sources

Fields = dict[str, Any]
Filled = Callable[[Fields], Any]

_ONE_EXPRESSION = re.compile(r"\{\{((?:(?!\}\}).)*)\}\}", re.DOTALL)


class TaskRecords(NamedTuple):
    """The records of one task, each with the name of its `file` among its fields."""

    name: str
    records: Iterable[Fields]
    shown: Sequence[Fields] = ()
    """Few-shot examples."""


def rows_of(recipe: Recipe, sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    """Each task's name and its rows."""
    if recipe.records:
        tasks = pkgutil.resolve_name(recipe.records)(sources, settings)
    else:
        tasks = _tasks(recipe, sources, settings)
    for task in tasks:
        yield task.name, _rows(recipe, sources, settings, task)


def _tasks(recipe: Recipe, sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    shots = settings.shots if _example(recipe, settings) else 0
    for name, task in recipe.tasks.items():
        file = sources.find(*task.files, required=len(recipe.tasks) == 1)
        if file is None:
            continue
        shown = sources.examples(shots, *task.examples) if task.examples else []
        records = sources.records(file)
        first = 0
        if task.first_are_examples:
            shown, first = records[:shots], len(records[:shots])
        asked = enumerate(records[first:], start=first)
        yield TaskRecords(name, [{**record, "number": number, "file": file} for number, record in asked], shown)


def _rows(recipe: Recipe, sources: Sources, settings: RecipeSettings, task: TaskRecords) -> Iterator[Row]:
    derive: Filled = pkgutil.resolve_name(recipe.fields) if recipe.fields else lambda record: {}
    ask = _filled(recipe.ask)
    example = _filled(_example(recipe, settings))

    def fields_of(record: Fields) -> Fields:
        fields = {**record, **derive(record)}
        return {**fields, "ask": ask(fields)}

    before = "".join(example(fields_of(record)) for record in task.shown)
    of_variant = _merged(recipe.row, recipe.where.get(settings.variant, {}))
    row = _filled(_merged(of_variant, recipe.where.get(task.name, {})))
    for record in task.records:
        made = row({**fields_of(record), "before": before})
        made["metadata"]["source_sha256"] = sources.sha256(record["file"])
        yield made


def _example(recipe: Recipe, settings: RecipeSettings) -> str:
    return recipe.example if isinstance(recipe.example, str) else recipe.example.get(settings.variant, "")


def _merged(row: Row, changes: Row) -> Row:
    """The row with the changes; mappings in it are changed field by field."""
    both = {key: _merged(row[key], changes[key]) for key in row.keys() & changes.keys() if isinstance(row[key], dict)}
    return {**row, **changes, **both}


def _filled(template: Any) -> Filled:
    """The function that puts fields into every text of a template."""
    if isinstance(template, dict):
        parts = {key: _filled(value) for key, value in template.items()}
        return lambda fields: {key: part(fields) for key, part in parts.items()}
    if isinstance(template, list):
        items = [_filled(item) for item in template]
        return lambda fields: [item(fields) for item in items]
    if not isinstance(template, str) or "{{" not in template:
        return lambda fields: template
    return _text(template)


def _text(template: str) -> Filled:
    one = _ONE_EXPRESSION.fullmatch(template)
    if one is None:
        render: Filled = _environment().from_string(template).render
    else:
        render = _environment().compile_expression(one[1], undefined_to_none=False)

    def filled(fields: Fields) -> Any:
        try:
            value = render(fields)
            if isinstance(value, StrictUndefined):
                str(value)  # raises: an expression alone would return what is missing instead
        except UndefinedError as error:
            raise LookupError(error.message) from None
        return value

    return filled


@cache
def _environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701
    environment.filters |= {"plain_number": plain_number, "lettered": lettered, "letter_at": letter_at}
    return environment
