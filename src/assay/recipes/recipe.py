"""What a recipe is, how its source files are found and checked, and how the task folder is written."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from assay.catalog import own_version, unknown_name
from assay.core.errors import UsageError
from assay.core.run_file import write_text
from assay.recipes.fetched import own_fetched_files

Row = dict[str, Any]
"""One line of a task folder."""

NAMES = {
    "aime": "assay.recipes.aime",
    "arc": "assay.recipes.arc",
    "bbh": "assay.recipes.bbh",
    "drop": "assay.recipes.drop",
    "gsm8k": "assay.recipes.gsm8k",
    "gpqa": "assay.recipes.gpqa",
    "hellaswag": "assay.recipes.hellaswag",
    "humaneval": "assay.recipes.humaneval",
    "ifeval": "assay.recipes.ifeval",
    "livecodebench": "assay.recipes.livecodebench",
    "math-500": "assay.recipes.math500",
    "mbpp": "assay.recipes.mbpp",
    "mmlu": "assay.recipes.mmlu",
    "mmlu-pro": "assay.recipes.mmlu_pro",
    "nq-open": "assay.recipes.nq_open",
    "svamp": "assay.recipes.svamp",
    "truthfulqa": "assay.recipes.truthfulqa",
    "winogrande": "assay.recipes.winogrande",
}


class PublishedFile(NamedTuple):
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


class Recipe(Struct, frozen=True, kw_only=True):
    """A benchmark: its source, how its tasks are made, and where they depart from the publication."""

    name: str
    title: str
    source: str
    licence: str
    reference: str
    variants: dict[str, str]
    """Name -> what it asks and how it scores; the first is the default."""
    default_shots: int
    make: Callable[[Sources, RecipeSettings], Iterator[tuple[str, Iterator[Row]]]]
    """(task name, its rows) for each task."""
    sha256: dict[str, str]
    """File name -> the sha256 of the published file."""
    downloads: tuple[PublishedFile, ...] = ()
    """What `assay recipe fetch` downloads; the sha256 of an archive is in `sha256` under its name."""
    notes: tuple[str, ...] = ()
    """Where it departs from the publication, and other notes."""
    scales: bool = field(default=True)
    """Whether the number of few-shot examples can be chosen."""


def one_task(
    name: str, rows: Callable[[Sources, RecipeSettings], Iterator[Row]]
) -> Callable[[Sources, RecipeSettings], Iterator[tuple[str, Iterator[Row]]]]:
    """`make` of a benchmark that is a single task."""
    return lambda sources, settings: iter([(name, rows(sources, settings))])


class Source(Struct, frozen=True, kw_only=True):
    """A file that a recipe read."""

    path: Path
    sha256: str
    known: bool


class Sources:
    """The files below a folder (or one file), read whole and checked at every read."""

    def __init__(self, data: Path, known: dict[str, str], *, accept_unknown: bool = False) -> None:
        if not data.exists():
            raise UsageError(f"{data}: there is no such file or folder; give the benchmark's original files")
        self._data = data
        fetched = own_fetched_files(data)
        members = {name: each["sha256"] for name, each in fetched.items() if "archive" in each and each["published"]}
        self._known = {**known, **members}
        self._fetched = {entry["sha256"] for entry in fetched.values()}
        self._accept_unknown = accept_unknown
        self.used: dict[str, Source] = {}
        self.of_task: dict[str, Source] = {}
        """The files read for the current task."""
        self.remarks: list[str] = []

    def remark(self, message: str) -> None:
        """Add a note about these files for the user; each is reported once."""
        if message not in self.remarks:
            self.remarks.append(message)

    def names(self, pattern: str) -> list[str]:
        """The files below the folder that match the pattern, sorted by path."""
        if self._data.is_file():
            return [self._data.name]
        return sorted(path.relative_to(self._data).as_posix() for path in self._data.rglob(pattern) if path.is_file())

    def find(self, *names: str, required: bool = True) -> str | None:
        """The first of these files that exists."""
        for name in names:
            if self._path(name) is not None:
                return name
        if required:
            raise UsageError(f"{self._data}: none of {', '.join(names)} is here; give the benchmark's original files")
        return None

    def examples_file(self, *names: str) -> str:
        """The first of these files that exists; few-shot examples are taken from it."""
        name = self.find(*names, required=False)
        if name is None:
            raise UsageError(
                f"{self._data}: none of {', '.join(names)} is here, which has the few-shot examples; give the "
                "benchmark's original files, or use --num-fewshot 0"
            )
        return name

    def read(self, name: str) -> bytes:
        path = self._path(name)
        if path is None:
            raise UsageError(f"{self._data}: {name} is not here")
        content = path.read_bytes()
        self._check(path, hashlib.sha256(content).hexdigest())
        return gzip.decompress(content) if path.suffix == ".gz" else content

    def lines(self, name: str) -> list[Any]:
        """The records of a JSON Lines file."""
        return [json.loads(line) for line in self.read(name).splitlines() if line.strip()]

    def examples(self, shots: int, *names: str) -> list[Any]:
        """The first records of a training file, which is needed only where few-shot examples are shown."""
        return self.lines(self.examples_file(*names))[:shots] if shots else []

    def records(self, name: str) -> list[Any]:
        """The records of a JSON, JSON Lines or Parquet file."""
        if name.endswith(".parquet"):
            return _parquet(self.read(name))
        if name.endswith(".json"):
            content = json.loads(self.read(name))
            return content if isinstance(content, list) else list(content.values())
        return self.lines(name)

    def sha256(self, name: str) -> str:
        return self.used[Path(name).name].sha256

    def _path(self, name: str) -> Path | None:
        if self._data.is_file():
            return self._data if self._data.name == Path(name).name else None
        direct = self._data / name
        if direct.is_file():
            return direct
        paths = sorted(self._data.rglob(Path(name).name))
        return paths[0] if paths else None

    def _check(self, path: Path, sha256: str) -> None:
        expected = self._known.get(path.name)
        known = sha256 == expected or sha256 in self._known.values()
        if not known and sha256 not in self._fetched and not self._accept_unknown:
            mismatch = f"not {expected}" if expected else "which this recipe does not know"
            raise UsageError(
                f"{path}: its sha256 is {sha256}, {mismatch}. If it is the file you mean to use, add "
                "--accept-other-source: it is then used as it is, and recipe.json records that it differs"
            )
        self.used[path.name] = self.of_task[path.name] = Source(path=path, sha256=sha256, known=known)


def _parquet(content: bytes) -> list[Any]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("reading a Parquet file needs pyarrow: pip install 'assay-eval[parquet]'") from error
    rows: list[Any] = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    return rows


# the errors of reading a file whose content is not in the published format
NOT_IN_SHAPE = (LookupError, TypeError, ValueError, AttributeError, RecursionError, EOFError, csv.Error, zlib.error)


_TASK_NAME = re.compile(r"\w[\w.-]*")
"""A file is named after its task, and some tasks after a value in the data: it must not be a path."""


def find_recipe(name: str) -> Recipe:
    if name not in NAMES:
        raise UsageError(unknown_name("recipe", name, NAMES))
    recipe: Recipe = importlib.import_module(NAMES[name]).RECIPE
    return recipe


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
        for task, rows in recipe.make(sources, settings):
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
    if unpublished := sum(not each.known for each in sources.used.values()):
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
    if all(each.known for each in sources.of_task.values()):
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
            {"name": each.path.name, "sha256": each.sha256, "published": each.known} for each in sources.used.values()
        ],
        "remarks": sources.remarks,
        "tasks": counts,
        "made_with": own_version(),
    }
