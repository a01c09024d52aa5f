"""What tokens cost: a dated price file that comes with assay, and the user's own, which overrides it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.types import Completion
from assay.run_file import write_whole

FILE_NAMES = ("prices.yaml", "prices.yml", "prices.json")
KEPT = "prices.yaml"
"""The copy that lies in a run; JSON is YAML too."""
PER = 1_000_000
MAX_BYTES = 4 << 20
"""The largest price file that is read."""
BUNDLED = "prices that come with assay"


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Money for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """For prompt tokens that the server had in its cache; None charges them as any other."""

    @property
    def is_free(self) -> bool:
        return not (self.input or self.output)

    def of(self, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = (tokens_in - tokens_cached) * (tokens_in > tokens_cached)  # works for whole columns of them, too
        return (fresh * self.input + (tokens_in - fresh) * cached + tokens_out * self.output) / PER


class PriceFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price file as people write it: per million tokens, with the day the prices were looked up if they noted it."""

    date: str | None = None
    currency: str = "USD"
    models: dict[str, Price]
    notes: tuple[str, ...] = ()


def dated(source: str, date: str | None) -> str:
    """Where prices come from, for a note."""
    return f"{source}, dated {date}" if date else f"{source}, without a date"


class Quote(Struct, frozen=True, kw_only=True):
    """A model's price, and where it was found."""

    price: Price
    currency: str
    date: str | None
    source: str


Quotes = dict[str, Quote | None]
"""Prices by the models' names; None where none is known."""


def cost_at(quote: Quote | None, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float | None:
    """Money for so many tokens; None where no price is known."""
    return None if quote is None else quote.price.of(tokens_in, tokens_out, tokens_cached)


def cost_of_answers(quote: Quote | None, completions: Sequence[Completion]) -> float | None:
    """Money for some answers, from the cache or not; None where no price is known, or a model counted no tokens."""
    if quote is not None and quote.price.is_free:
        return 0.0
    if any(completion.tokens_in is None or completion.tokens_out is None for completion in completions):
        return None
    costs = [
        cost_at(quote, completion.tokens_in or 0, completion.tokens_out or 0, completion.tokens_cached or 0)
        for completion in completions
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def without_label(model: str) -> str:
    """The name under which a price file has a model: that of a judge may end with its label."""
    return model.partition(" (")[0]


class Prices:
    """Price files, the first that names a model wins; an exact name wins over a pattern such as `my-model-*`."""

    def __init__(self, files: list[tuple[str, PriceFile]], unbilled: Collection[str] = ()) -> None:
        self._files = files
        self._unbilled = unbilled

    def where_unbilled(self, names: Collection[str]) -> Prices:
        """These prices, where no vendor bills the models of these names."""
        return Prices(self._files, names)

    def is_billed(self, model: str) -> bool:
        """Whether the model has a price, known or not."""
        return model not in self._unbilled or self.quote(model) is not None

    def quote(self, model: str) -> Quote | None:
        """The price of a model, or of a judge such as `openai:gpt-4.1 (Strict)`."""
        return self._quote(model) or self._quote(without_label(model))

    def _quote(self, model: str) -> Quote | None:
        _, _, bare = model.partition(":")
        for source, file in self._files:
            name = _matching(model, file.models) or (_matching(bare, file.models) if bare else None)
            if name is not None:
                return Quote(price=file.models[name], currency=file.currency, date=file.date, source=source)
        return None


_of_project: ContextVar[tuple[str, PriceFile] | None] = ContextVar("_of_project", default=None)


def use_prices_of_project(source: str, prices: PriceFile | None) -> None:
    """Let the prices that a project gives its models come after a price file here, and before all others."""
    _of_project.set(None if prices is None else (source, prices))


def find_prices(path: Path | None = None, folder: Path | None = None, *, run: Path | None = None) -> Prices:
    """The named file or the one in the folder, over those of the project, those that a run kept, and assay's own."""
    found = [path or _file_in(folder or Path())]
    if run is not None and (run / KEPT).is_file():
        found.append(run / KEPT)
    files = [(str(item), read_price_file(item)) for item in found if item is not None]
    if (own := _of_project.get()) is not None:
        files.insert(found[0] is not None, own)
    files.append((BUNDLED, _bundled()))
    return Prices(files)


def model_names() -> list[str]:
    """The models whose prices come with assay, by their own names."""
    return [name for name in _bundled().models if "*" not in name]


@cache
def _bundled() -> PriceFile:
    return msgspec.json.decode(Path(__file__).with_name("prices.json").read_bytes(), type=PriceFile)


def keep_prices(run: Path, named: str | None) -> None:
    """Leave a copy of the user's price file in the run, so that its cost is known from anywhere, and later."""
    used = Path(named) if named else _file_in(Path())
    if (own := _of_project.get()) is not None:
        joined = _joined(None if used is None else read_price_file(used), *own)
        write_whole(run / KEPT, msgspec.json.encode(joined))
    elif used is not None:
        write_whole(run / KEPT, _content(used))


def keep_prices_of(run: Path, earlier: Path) -> None:
    """Leave the prices of an earlier run in one that scores its answers again, after those of the project."""
    kept, own = earlier / KEPT, _of_project.get()
    if own is None:
        if kept.exists():
            write_whole(run / KEPT, _content(kept))
        return
    joined = _joined(own[1], str(kept), read_price_file(kept)) if kept.exists() else own[1]
    write_whole(run / KEPT, msgspec.json.encode(joined))


def _joined(used: PriceFile | None, source: str, own: PriceFile) -> PriceFile:
    """A price file with the prices of another that it lacks; money of two currencies is not mixed."""
    if used is None:
        return own
    if used.currency != own.currency:
        raise UsageError(f"{source}: its prices are in {own.currency}, those of the price file here in {used.currency}")
    return msgspec.structs.replace(used, models={**own.models, **used.models})


def _file_in(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def read_price_file(path: Path) -> PriceFile:
    return _decoded(_content(path), str(path))


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, MAX_BYTES)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: could not read the price file: {error.strerror}") from error


def _decoded(data: bytes, name: str) -> PriceFile:
    from assay.reading.bounded_yaml import load_yaml  # most runs have no price file of their own

    try:
        file = msgspec.convert(_dates_as_text(load_yaml(data.decode("utf-8-sig"), name)), PriceFile)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: not UTF-8 at byte {error.start}") from error
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{name}: not a price file: {error}. Expected `models: {{NAME: {{input: …, output: …}}}}`, in money per "
            "million tokens."
        ) from error
    for model, price in file.models.items():
        if min(price.input, price.output, price.cached_input or 0.0) < 0:
            raise UsageError(f"{name}: models.{model}: a price cannot be negative")
    return file


def _dates_as_text(value: Any) -> Any:
    # YAML reads 2026-11-01 as a day; people write it without quotes
    if isinstance(value, dict) and value.get("date") is not None:
        return {**value, "date": str(value["date"])}
    return value


def _matching(model: str, known: dict[str, Price]) -> str | None:
    if model in known:
        return model
    patterns = [name for name in known if fnmatchcase(model, name)]
    return max(patterns, key=len, default=None)
