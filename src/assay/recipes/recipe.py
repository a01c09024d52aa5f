"""What a recipe is, and how the task folder of a benchmark is written.

A recipe is one YAML file of this folder: where the benchmark's files come from, and what a record becomes. Its texts
are Jinja templates over the fields of a record; there is code only where a template would not do.
"""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.catalog import own_version, unknown_name
from assay.core.errors import UsageError
from assay.recipes.sources import Source, Sources
from assay.run_file import write_text

Row = dict[str, Any]
"""One line of a task folder."""

_HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in _HERE.glob("*.yaml"))


class PublishedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a benchmark at a public address."""

    name: str
    url: str
    size: int
    """In bytes, as far as known."""
    members: tuple[str, ...] = ()
    """Of an archive: patterns of the names inside it that the recipe reads."""

    @property
    def most_bytes(self) -> int:
        """The most to download: a larger file is not this one."""
        return self.size + self.size // 4 + (1 << 20)


class RecipeSettings(Struct, frozen=True, kw_only=True):
    """The variant and number of few-shot examples that the caller chose."""

    variant: str
    shots: int
    """Few-shot examples before each question."""


class BenchmarkFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files of one task: the first of each list that exists is read."""

    files: tuple[str, ...]
    examples: tuple[str, ...] = ()
    """Where few-shot examples come from."""
    first_are_examples: bool = False
    """Whether the examples are the first records of the same file, which are then not asked."""


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark: its source, how its tasks are made, and where they depart from the publication."""

    name: str
    title: str
    source: str
    licence: str
    reference: str
    variants: dict[str, str]
    """Name -> what it asks and how it scores; the first is the default."""
    default_shots: int
    row: Row
    """A line of the task folder, as templates. A text that is one expression keeps the expression's type."""
    where: dict[str, Row] = {}
    """Variant or task -> what differs from `row` there."""
    ask: str = ""
    """The question as it stands in the prompt: `{{ ask }}` in `row` and `example`."""
    example: str | dict[str, str] = ""
    """One few-shot example, also by variant (one without an entry shows none); all of them are `{{ before }}`."""
    tasks: dict[str, BenchmarkFiles] = {}
    """Task -> its files. Of several tasks, those whose files are missing are left out."""
    records: str = ""
    """Instead of `tasks`: `module:function` that yields `TaskRecords`."""
    fields: str = ""
    """`module:function` that derives more fields from those of a record."""
    sha256: dict[str, str] = {}
    """File name -> the sha256 of the published file."""
    downloads: tuple[PublishedFile, ...] = ()
    """What `assay recipe fetch` downloads; the sha256 of an archive is in `sha256` under its name."""
    notes: tuple[str, ...] = ()
    """Where it departs from the publication, and other notes."""
    scales: bool = True
    """Whether the number of few-shot examples can be chosen."""


# the errors of reading a file whose content is not in the published format
NOT_IN_SHAPE = (LookupError, TypeError, ValueError, AttributeError, RecursionError, EOFError, csv.Error, zlib.error)


_TASK_NAME = re.compile(r"\w[\w.-]*")
"""A file is named after its task, and some tasks after a value in the data: it must not be a path."""


def find_recipe(name: str) -> Recipe:
    if name not in NAMES:
        raise UsageError(unknown_name("recipe", name, NAMES))
    return msgspec.yaml.decode((_HERE / f"{name}.yaml").read_bytes(), type=Recipe)


def write_tasks(
    recipe: Recipe,
    data: Path,
    out: Path,
    *,
    variant: str | None,
    shots: int | None,
    accept_unknown: bool = False,
    say: Callable[[str], object] = lambda message: None,
) -> dict[str, int]:
    """Write the task folder of a benchmark; the number of samples of each task. Nothing is left half-written.

    `say` is called with every note about these files.
    """
    from assay.recipes.rows import rows_of

    variant_name = variant or next(iter(recipe.variants))
    if variant_name not in recipe.variants:
        raise UsageError(unknown_name(f"variant of {recipe.name}", variant_name, recipe.variants))
    settings = RecipeSettings(variant=variant_name, shots=recipe.default_shots if shots is None else shots)
    if settings.shots < 0:
        raise UsageError(f"--num-fewshot must be 0 or more, got {settings.shots}")
    sources = Sources(data, recipe.sha256, accept_unknown=accept_unknown)
    counts: dict[str, int] = {}
    texts: dict[str, str] = {}
    try:
        for task, rows in rows_of(recipe, sources, settings):
            lines = [json.dumps(_marked(row, sources), ensure_ascii=False) for row in rows]
            if not lines or not _TASK_NAME.fullmatch(task):
                raise ValueError("it has no samples" if not lines else f"{task!r} is not a valid task name")
            counts[task] = len(lines)
            used = ", ".join(map(_named, sources.of_task.values()))
            head = f"# {recipe.title}, variant {variant_name}, {settings.shots} few-shot examples; from {used}"
            texts[task] = "\n".join([head, *lines]) + "\n"
            sources.of_task.clear()
    except NOT_IN_SHAPE as error:
        last = next(reversed(sources.used), str(data))
        raise UsageError(
            f"{last}: is not in the format of {recipe.title}'s files: {type(error).__name__}: {error}"
        ) from error
    if not counts:
        raise UsageError(f"{data}: no file of {recipe.title} is here; give those of {recipe.source}")
    if unpublished := sum(not item.known for item in sources.used.values()):
        sources.remark(
            f"{unpublished} of {len(sources.used)} files are not among the published ones known here; they are used "
            "as they are, and recipe.json, the task files and every sample's metadata record that"
        )
    for remark in sources.remarks:
        say(remark)
    for task, text in texts.items():
        write_text(out / f"{task}.jsonl", text)
    write_text(out / "recipe.json", json.dumps(_provenance(recipe, settings, sources, counts), indent=1) + "\n")
    return counts


def _marked(row: Row, sources: Sources) -> Row:
    """Mark a sample whose source is not the published file, in the journal too."""
    if all(item.known for item in sources.of_task.values()):
        return row
    return {**row, "metadata": {**row.get("metadata", {}), "source_published": False}}


def _named(source: Source) -> str:
    return f"{source.path.name} sha256 {source.sha256}{'' if source.known else ' (not known as published)'}"


def _provenance(recipe: Recipe, settings: RecipeSettings, sources: Sources, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "recipe": recipe.name,
        "variant": settings.variant,
        "shots": settings.shots,
        "licence": recipe.licence,
        "source": recipe.source,
        "files": [
            {"name": item.path.name, "sha256": item.sha256, "published": item.known} for item in sources.used.values()
        ],
        "remarks": sources.remarks,
        "tasks": counts,
        "made_with": own_version(),
    }
