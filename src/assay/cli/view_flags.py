"""The reporting flags, shared by every command that prints a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.cli.flags import option, repeated
from assay.core.errors import UsageError

if TYPE_CHECKING:
    from assay.results.report_settings import View


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    look = parser.add_argument_group("reporting")
    option(look, "--level L", "confidence level (default 0.95)", float)
    repeated(look, "--by KEY", "slice by metadata.KEY, or by sample.COLUMN of a YAML task's dataset (repeatable)")
    option(
        look,
        "--group-by KEY",
        "samples with the same metadata.KEY or sample.COLUMN are one cluster (default: metadata.group)",
    )
    option(look, "--prices FILE", "price file (default: prices.yaml here, that of the run, assay's own)")


def view_from(options: argparse.Namespace, *, level: float = 0.95, group_by: str = "group") -> View:
    from assay.costs.prices import find_prices
    from assay.results.report_settings import View, metadata_key

    return View(
        level=checked_level(options.level, level),
        by=tuple(metadata_key(text, "--by") for text in options.by),
        group_by=metadata_key(options.group_by, "--group-by") if options.group_by else group_by,
        prices=find_prices(Path(options.prices)) if options.prices else None,
    )


def view_of_runs(options: argparse.Namespace, sources: Sequence[Path | str]) -> View:
    """The level and the clusters of all the results, and over them what the flags say now."""
    from assay.results.report_settings import view_of_results

    recorded = view_of_results(sources, options.level)
    return view_from(options, level=recorded.level, group_by=recorded.group_by)


def view_of_run(options: argparse.Namespace, folder: Path) -> View:
    """The view the run was asked for with, and over it what the flags say now."""
    from assay.core.run_file import read_run_file
    from assay.results.report_settings import view_of

    recorded = view_of(read_run_file(folder).config, folder)
    given = view_from(options, level=recorded.level, group_by=recorded.group_by)
    return msgspec.structs.replace(
        recorded,
        level=given.level,
        by=given.by or recorded.by,
        group_by=given.group_by,
        per_example=recorded.per_example or getattr(options, "include_per_example", False),
        prices=given.prices if options.prices else recorded.prices,
    )


def checked_level(given: float | None, default: float = 0.95) -> float:
    level = default if given is None else given
    if not 0 < level < 1:
        raise UsageError(f"--level must be between 0 and 1, such as 0.95, got {level}")
    return level
