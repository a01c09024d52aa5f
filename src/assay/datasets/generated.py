"""Datasets that were generated: rows of the file that generation wrote, with the recipe they were made by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.datasets.json_lines import JsonLines


def _about(options: Mapping[str, Any], _: object) -> DatasetInfo:
    given = options.get("recipe")
    recipe = given if isinstance(given, Mapping) else {}
    rows = recipe.get("rows")
    begins = (
        ((str(rows.get("use")), dict(rows["options"])),)
        if isinstance(rows, Mapping) and isinstance(rows.get("options"), Mapping)
        else ()
    )
    return DatasetInfo(
        elsewhere=not options.get("path"),
        made_from=begins,
        made_by=recipe.get("steps"),
    )


@describes(_about)
class Generated(JsonLines):
    """Rows of a generated file. The `recipe` is what the file was made by; reading it runs nothing."""

    def __init__(
        self, *, recipe: dict[str, Any], path: str | None = None, name: str = "generated", **options: Any
    ) -> None:
        if path is None:
            raise UsageError(f"dataset `{name}` has not been generated yet: run its task once")
        super().__init__(path=path, name=name, **options)
        self.recipe = recipe
