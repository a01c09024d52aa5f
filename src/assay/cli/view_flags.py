"""The reporting flags, shared by every command that prints a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.cli.setting_flags import add_settings, flag_of_run, given_settings
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.setting import Purpose, problems_of

if TYPE_CHECKING:
    from assay.results.report_settings import View


_NAMES = ("level", "by", "group_by", "prices")


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    look = parser.add_argument_group(Purpose.SHOWN.value)
    add_settings(look, RunSettings, *_NAMES)


def reporting_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the flags say, with keys as samples have them: `metadata.topic` is `topic`."""
    from assay.results.report_settings import metadata_key

    given = given_settings(options, RunSettings)
    shown = {name: given[name] for name in _NAMES if name in given}
    if "by" in shown:
        shown["by"] = tuple(metadata_key(text, "--by") for text in shown["by"])
    if "group_by" in shown:
        shown["group_by"] = metadata_key(shown["group_by"], "--group-by")
    return shown


def view_from(options: argparse.Namespace, *, level: float = 0.95, group_by: str = "group") -> View:
    from assay.costs.prices import find_prices
    from assay.results.report_settings import View

    settings = RunSettings(**{"level": level, "group_by": group_by, **reporting_settings(options)})
    for problem in problems_of(settings, flag_of_run):
        raise UsageError(problem)
    return View(
        level=settings.level,
        by=settings.by,
        group_by=settings.group_by or group_by,
        prices=find_prices(Path(settings.prices)) if settings.prices else None,
    )


def view_of_runs(options: argparse.Namespace, sources: Sequence[Path | str]) -> View:
    """The level and the clusters of all the results, and over them what the flags say now."""
    from assay.results.report_settings import view_of_results

    recorded = view_of_results(sources, options.level)
    return view_from(options, level=recorded.level, group_by=recorded.group_by)


def view_of_run(options: argparse.Namespace, folder: Path) -> View:
    """The view the run was asked for with, and over it what the flags say now."""
    from assay.results.report_settings import view_of
    from assay.run_file import read_run_file

    recorded = view_of(read_run_file(folder).config, folder)
    given = view_from(options, level=recorded.level, group_by=recorded.group_by)
    return msgspec.structs.replace(
        recorded,
        level=given.level,
        by=given.by or recorded.by,
        group_by=given.group_by,
        per_example=recorded.per_example or bool(vars(options).get("include_per_example")),
        prices=given.prices if options.prices else recorded.prices,
    )
