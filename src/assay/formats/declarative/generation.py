"""Rows made by templates, Python and models: written to a file with their provenance before anything is scored.

Every row depends on the recipe, the seed and its own number alone, so rows can be made in any order, and generation
that was interrupted is resumed: finished rows are kept in a partial file, with what their models used. A row that
cannot be made ends the generation; there are never incomplete rows. What models are paid for it is part of the
budget and of the costs of the run that had the rows generated.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from array import array
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct, structs

from assay import catalog
from assay.core.errors import FailureError, UsageError
from assay.core.fingerprint import fingerprint
from assay.core.regular_file import open_regular, read_regular
from assay.core.run import Stop
from assay.core.seams import BuildContext, close_part
from assay.core.types import Message, Request, Usage
from assay.core.usage import Account, about_tokens, usage_of
from assay.costs.budget import CountedAsJudge, SpendingLimits, keep_to_budget
from assay.costs.prices import cost_at, find_prices
from assay.costs.spending import summed
from assay.datasets.content import content_hash
from assay.datasets.json_lines import file_sha256
from assay.event_loop import run_anywhere
from assay.formats.declarative.records import GeneratorStep, ModelStep, OtherModel, PythonStep, RowRecipe, TemplateStep
from assay.models.layers.settings import WithSettings
from assay.models.model_names import make_model
from assay.models.pool import wrap_alone
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template
from assay.run_file import write_whole, writing_whole
from assay.snippets.process import Snippet
from assay.user.project_folder import make_project_folder

GENERATED = Path(".assay") / "generated"
"""In the folder that the command runs in, like the cache of answers."""
MAX_SOURCE_ROWS = 100_000
MAX_BYTES = 1 << 30
"""Of all rows of a dataset together: a file from a stranger must not fill the disk."""
MAX_STAND_INS = 100_000
MAX_USAGES = 1000
"""Kept one by one before they are summed."""
ROWS_AT_ONCE = 32
Row = dict[str, Any]


Step = Callable[[Row, int], Awaitable[Row]]
"""One thing that is done to a row and its number: the columns it adds."""


def generated_file(name: str, recipe: RowRecipe) -> Path:
    """Where the rows of a recipe are, or will be: another recipe, or other rows to begin with, is another file."""
    source = recipe.rows
    held = content_hash(catalog.make("dataset", source.use, source.options)) if source else None
    return GENERATED / f"{name}-{fingerprint([structs.replace(recipe, rows=None), held])[:16]}.jsonl"


def is_generated(path: Path) -> bool:
    """Whether the rows are there, as they were written."""
    record = path.with_suffix(".json")
    if not path.is_file() or not record.is_file():
        return False
    try:
        provenance = msgspec.json.decode(read_regular(record), type=_Provenance)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{record}: cannot be read ({error}); delete it to have the rows generated again") from error
    if provenance.sha256 != file_sha256(path):
        raise UsageError(
            f"{path}: was changed after it was generated; delete it to have it generated again, "
            "or name a copy of it as a `local` source"
        )
    return True


class _Provenance(Struct):
    sha256: str


class _Made(Struct, array_like=True):
    """A line of the partial file: a row, or what the models of a row that failed used."""

    index: int
    row: Row | None
    usage: tuple[Usage, ...] = ()


class _Rows:
    """The rows made so far, in the partial file: of each, memory holds only where it begins."""

    def __init__(self, partial: Path, count: int) -> None:
        self._partial = partial
        self._places = array("q", [-1]) * count
        self._finished = 0
        self._used: list[Usage] = []
        self.size = 0
        with suppress(FileNotFoundError), open_regular(partial) as file:
            for line in file:
                with suppress(msgspec.MsgspecError):  # a torn last line is a row to generate again
                    self._note(msgspec.json.decode(line, type=_Made), self.size)
                self.size += len(line)

    def __len__(self) -> int:
        return self._finished

    def __iter__(self) -> Iterator[Row]:
        with open_regular(self._partial) as file:
            for place in self._places:
                file.seek(place)
                yield msgspec.json.decode(file.readline(), type=_Made).row or {}

    def missing(self) -> Iterator[int]:
        return (index for index, place in enumerate(self._places) if place < 0)

    @contextmanager
    def opened(self) -> Iterator[None]:
        self._file = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            if self.size and os.pread(self._file, 1, self.size - 1) != b"\n":
                self.size += os.write(self._file, b"\n")  # the torn line ends here
            yield
        finally:
            os.close(self._file)

    def append(self, made: _Made) -> None:
        line = msgspec.json.encode(made) + b"\n"
        os.write(self._file, line)
        self._note(made, self.size)
        self.size += len(line)

    def discard(self) -> None:
        self._partial.unlink(missing_ok=True)

    def used(self) -> list[Usage]:
        """What the models used for all rows, earlier sessions included."""
        return summed(self._used)

    def _note(self, made: _Made, place: int) -> None:
        if made.row is not None and 0 <= made.index < len(self._places):
            self._finished += self._places[made.index] < 0
            self._places[made.index] = place
        self._used.extend(made.usage)
        if len(self._used) > MAX_USAGES:
            self._used = self.used()


NOT_WRITTEN = "(not written yet)"


def asks_models(recipe: RowRecipe) -> bool:
    return any(isinstance(step, ModelStep) for step in recipe.steps)


def estimate(recipe: RowRecipe, limits: SpendingLimits) -> str:
    """How often each model is called to write the rows, and with how many tokens at least, in words."""
    prices = find_prices(Path(limits.prices) if limits.prices else None)
    sentences = []
    for step in recipe.steps:
        if isinstance(step, ModelStep):
            rows, model = recipe.num_samples, _behind(step).model
            prompts = filter(None, (step.system_prompt, step.user_prompt))
            tokens = rows * sum(map(about_tokens, prompts))  # what a row adds is not known yet
            quote = prices.quote(model)
            cost = cost_at(quote, tokens, 0)
            money = "" if quote is None else f", {cost:.2g} {quote.currency} for the prompts"
            sentences.append(f"{rows:,} requests to `{model}` with at least about {tokens:,} tokens in total{money}")
    return "; ".join(sentences)


def stand_in_rows(name: str, recipe: RowRecipe) -> list[Row] | None:
    """The rows with the prompts in place of what models are going to write; None where their columns are not known."""
    if recipe.num_samples > MAX_STAND_INS or any(isinstance(step, ModelStep) and step.json for step in recipe.steps):
        return None
    steps = [
        TemplateStep(columns={step.column: f"{NOT_WRITTEN} {step.user_prompt}"})
        if isinstance(step, ModelStep)
        else step
        for step in recipe.steps
    ]
    with TemporaryDirectory() as folder:
        rows = _Rows(Path(folder) / "rows.partial", recipe.num_samples)
        run_anywhere(_generate(name, structs.replace(recipe, steps=steps), rows, SpendingLimits()))
        return list(rows)


def generate(name: str, recipe: RowRecipe, path: Path, limits: SpendingLimits) -> list[Usage]:
    """Generate the missing rows, write all rows to `path`, and how they were made to the `.json` file next to it.

    Returns what the models used for all of them, earlier sessions included.
    """
    partial = path.with_suffix(".partial")
    try:
        make_project_folder(path.parent)
        rows = _Rows(partial, recipe.num_samples)
        run_anywhere(_generate(name, recipe, rows, limits))
    except OSError as error:
        raise UsageError(f"dataset `{name}`: {partial} could not be written: {error.strerror}") from error
    with writing_whole(path) as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
    provenance = {
        "dataset": name,
        "recipe": recipe,
        "rows": recipe.num_samples,
        "sha256": file_sha256(path),
        "used": rows.used(),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "assay": catalog.own_version(),
    }
    write_whole(path.with_suffix(".json"), msgspec.json.format(msgspec.json.encode(provenance), indent=2))
    rows.discard()
    return rows.used()


async def _generate(
    name: str,
    recipe: RowRecipe,
    rows: _Rows,
    limits: SpendingLimits,
) -> None:
    sources = _source_rows(name, recipe)
    stop = Stop()
    async with AsyncExitStack() as stack:
        steps = [await _made(step, recipe, stack) for step in recipe.steps]
        if limits:
            keep_to_budget([step.model for step in steps if isinstance(step, _ByModel)], limits, stop, rows.used())
        missing = rows.missing()
        stack.enter_context(rows.opened())
        failed: list[tuple[int, _StepError]] = []

        async def work() -> None:
            while not (failed or stop.requested):  # rows under way are finished and kept: a model was paid for them
                if (index := next(missing, None)) is None:
                    return
                row: Row | None = None
                with Account() as account:
                    try:
                        row = await _row(recipe, steps, sources, index)
                    except _StepError as error:
                        failed.append((index, error))
                rows.append(_Made(index, row, usage_of(account)))
                if rows.size > MAX_BYTES:
                    stop.end("too large")

        await asyncio.gather(*(work() for _ in range(ROWS_AT_ONCE)))
    if rows.size > MAX_BYTES:
        rows.discard()
        raise UsageError(
            f"dataset `{name}`: {len(rows):,} of its {recipe.num_samples:,} rows come to more than "
            f"{MAX_BYTES >> 20:,} MB, the most that is generated. Make fewer or shorter rows."
        )
    kept = f"{len(rows):,} of {recipe.num_samples:,} rows are kept"
    if failed:
        index, fault = min(failed, key=lambda each: each[0])
        raise UsageError(
            f"dataset `{name}`: steps[{fault.step}]: row {index + 1} could not be generated: {fault}. {kept}: rerun "
            "the same command to resume"
        )
    if len(rows) < recipe.num_samples:
        raise UsageError(f"dataset `{name}`: {stop.reason} while it was generated. {kept}: rerun with more to resume")


class _StepError(UsageError):
    """What went wrong with a row, and at which step."""

    def __init__(self, step: int, error: FailureError | RenderError | UsageError) -> None:
        super().__init__((error.failure.message if isinstance(error, FailureError) else str(error)).rstrip("."))
        self.step = step


async def _row(recipe: RowRecipe, steps: Sequence[Step], sources: Sequence[Row], index: int) -> Row:
    chance = Random(f"{recipe.seed} {index}")
    row: Row = dict(sources[index % len(sources)]) if sources else {}
    row |= {column: chance.choice(values) for column, values in sorted(recipe.draw.items())}
    for at, step in enumerate(steps):
        try:
            row |= await step(row, index)
        except (FailureError, RenderError, UsageError) as error:
            raise _StepError(at, error) from error
    return {"sample_id": str(index), **row}


def _source_rows(name: str, recipe: RowRecipe) -> list[Row]:
    """The rows to begin with, in an order that the seed decides."""
    if recipe.rows is None:
        return []
    dataset = catalog.make("dataset", recipe.rows.use, recipe.rows.options)
    rows = [dict(sample.row or {}) for sample in islice(dataset, MAX_SOURCE_ROWS + 1)]
    if not rows or len(rows) > MAX_SOURCE_ROWS:
        raise UsageError(f"dataset `{name}`: its `dataset_key` must have from 1 to {MAX_SOURCE_ROWS:,} rows")
    for row in rows:
        if (given := row.pop("sample_id", None)) is not None:
            row["source_id"] = given
    Random(str(recipe.seed)).shuffle(rows)
    return rows


async def _made(step: GeneratorStep, recipe: RowRecipe, stack: AsyncExitStack) -> Step:
    if isinstance(step, TemplateStep):
        return _ByTemplates(step.columns)
    if isinstance(step, PythonStep):
        context = BuildContext(own_code=True)  # the user has trusted the file before it is generated
        snippet = Snippet(step.generate_snippet, function="generate", stage="dataset", part="generate", context=context)
        stack.push_async_callback(snippet.aclose)
        return _ByPython(snippet, recipe.seed)
    behind = _behind(step)
    made = make_model(behind.model, behind.options)
    stack.push_async_callback(close_part, made)
    # without a cache: a finished row is kept and not requested again
    model = wrap_alone(made, concurrency=ROWS_AT_ONCE, say=lambda sentence: print(sentence, file=sys.stderr))
    if behind.generation:
        model = WithSettings(model, behind.generation)
    return _ByModel(CountedAsJudge(model), step, recipe.seed)


def _behind(step: ModelStep) -> OtherModel:
    assert step.model is not None  # noqa: S101 - a recipe has the model of every step
    return step.model


class _ByTemplates:
    """Columns by templates over the row so far."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = {name: Template(source, where=f"columns.{name}") for name, source in columns.items()}

    async def __call__(self, row: Row, index: int) -> Row:
        made: Row = {}
        for name, template in self._columns.items():
            made[name] = template.render({"sample": {**row, **made}, "index": index})
        return made


class _ByPython:
    """Columns by the author's `generate(sample, index, seed)`."""

    def __init__(self, snippet: Snippet, seed: int) -> None:
        self._snippet, self._seed = snippet, seed

    async def __call__(self, row: Row, index: int) -> Row:
        own_seed = _row_seed(self._seed, index)
        made = await self._snippet.call({"value": row}, {"value": index}, {"value": own_seed}, fit=True)
        if not isinstance(made, dict) or not made:
            raise UsageError(f"`generate` must return a mapping of columns, it returned {type(made).__name__}")
        return made


class _ByModel:
    """A column that a model writes, or the fields of the JSON object that it writes."""

    def __init__(self, model: CountedAsJudge, step: ModelStep, seed: int) -> None:
        self.model, self._seed = model, seed
        self._column, self._json = step.column, step.json
        prompts = (("system", step.system_prompt), ("user", step.user_prompt))
        self._messages = [(role, Template(text, where=f"{role}_prompt")) for role, text in prompts if text]

    async def __call__(self, row: Row, index: int) -> Row:
        variables = {"sample": row, "index": index}
        messages = tuple(Message(role=role, content=template.render(variables)) for role, template in self._messages)
        request = Request(messages=messages, seed=_row_seed(self._seed, index))
        text = (await self.model.generate(request)).text.strip()
        if not text:
            raise UsageError(f"the model {self.model.name} gave an empty answer")
        return _object_in(text, self.model.name) if self._json else {self._column: text}


def _row_seed(seed: int, index: int) -> int:
    """A seed of its own makes rows with equal prompts different."""
    return Random(f"{seed} {index}").randrange(2**31)


def _object_in(text: str, model: str) -> Row:
    """The JSON object of an answer, bare or in a fence."""
    inner = text
    if text.startswith("```") and text.endswith("```"):
        inner = text.removesuffix("```").partition("\n")[2]
    try:
        return msgspec.json.decode(inner, type=Row)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise UsageError(f"the model {model} must answer with one JSON object: {error}") from error
