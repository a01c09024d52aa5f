"""Reporting settings: level, clusters, slices, prices. None of them changes a score or needs a new run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.costs.prices import KEPT, Prices, find_prices
from assay.results.board.board_types import level_of_file
from assay.run_config import RunConfig
from assay.run_file import read_run_file
from assay.text.wording import hint, nearest

GROUP = "group"
"""The metadata key whose values cluster samples unless another is named."""


class View(Struct, frozen=True, kw_only=True):
    """The settings of a table, apart from the settings of the run behind it."""

    level: float = 0.95
    group_by: str = GROUP
    by: tuple[str, ...] = ()
    """Metadata keys to slice by."""
    per_example: bool = False
    prices: Prices | None = None
    """None: the prices of the folder where the command runs."""

    @classmethod
    def of(cls, config: RunConfig, **others: Any) -> View:
        """The reporting settings of a run."""
        return cls(level=config.level, group_by=config.group_by or GROUP, by=config.by, **others)


def view_of(config: RunConfig, folder: Path) -> View:
    """The view that the run in this folder was started with."""
    named = Path(config.prices) if config.prices else None
    if named is not None and not named.exists() and (folder / KEPT).exists():
        named = None  # moved, deleted or relative to another folder; the run kept a copy
    return View.of(config, per_example=config.include_per_example, prices=find_prices(named, run=folder))


def common_view(configs: Sequence[RunConfig]) -> View:
    """The view to compare results in: the settings that their runs share, the default where they differ. A run that
    names no clusters leaves them to the others."""
    levels = {config.level for config in configs}
    groups = {config.group_by for config in configs if config.group_by}
    return View(
        level=levels.pop() if len(levels) == 1 else View().level,
        group_by=groups.pop() if len(groups) == 1 else GROUP,
    )


def view_of_results(sources: Sequence[Path | str], level: float | None = None) -> View:
    """The view to compare run folders and leaderboard files in, at `level` where one is given.

    The intervals in a file are final, so results with different levels are refused.
    """
    runs = {str(path): read_run_file(path).config for source in sources if (path := Path(source)).is_dir()}
    view = common_view(list(runs.values()))
    if level is not None:
        return replace(view, level=level)
    files = {str(source): level_of_file(source) for source in sources if str(Path(source)) not in runs}
    levels = {**{name: config.level for name, config in runs.items()}, **files}
    if not files:
        return view
    if len(set(levels.values())) > 1:
        listed = ", ".join(f"{name} at {each:g}" for name, each in levels.items())
        raise UsageError(f"the results have different confidence levels: {listed}; --level L sets the one to use")
    return replace(view, level=next(iter(files.values())))


def missing_key(flag: str, key: str) -> str:
    """The notice that a flag names a key that no sample has."""
    return f"{flag} {key if key.startswith('sample.') else f'metadata.{key}'}: no sample has this key"


def key_hint(key: str, known: Iterable[str]) -> str:
    """The nearest key, by its own name where nothing is near to the whole of it: `topc` means `sample.topic`."""
    by_name = {item.rpartition(".")[2]: item for item in known}
    near = nearest(key.rpartition(".")[2], by_name)
    return hint(key, known, "Keys") if near is None else f"Did you mean `{nearest(key, known) or by_name[near]}`?"


def keys_in(metadata: Mapping[str, object]) -> Iterator[str]:
    for name, value in metadata.items():
        yield from (f"{name}.{inner}" for inner in value) if isinstance(value, dict) else (name,)


def missing_group(view: View, groupless: Sequence[bool]) -> list[str]:
    """The notice that the clusters named by a flag exist in no task: intervals would be too narrow without a word."""
    if view.group_by == GROUP or not groupless or not all(groupless):
        return []
    return [f"{missing_key('--group-by', view.group_by)}, so every sample counts as independent of the others"]


def metadata_key(text: str, flag: str) -> str:
    """The key in a flag's `metadata.KEY` or `KEY`."""
    key = text.removeprefix("metadata.")
    if not key:
        raise UsageError(f"{flag} {text!r}: expected metadata.KEY, such as metadata.difficulty")
    return key


def metadata_value(metadata: dict[str, object], key: str) -> str | None:
    """The value of a key, as a table shows it; a dotted key looks inside. None when the sample has none."""
    value: object = metadata.get(key)
    if key not in metadata and "." in key:
        value = metadata
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if value is None or isinstance(value, dict):
        return None
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
