"""Datasets that were generated: rows of the file that generation wrote, with the recipe they were made by."""

from __future__ import annotations

from typing import Any

from assay.core.errors import UsageError
from assay.datasets.json_lines import JsonLines


class Generated(JsonLines):
    """Rows of a generated file. The `recipe` is what the file was made by; reading it runs nothing."""

    def __init__(
        self, *, recipe: dict[str, Any], path: str | None = None, name: str = "generated", **options: Any
    ) -> None:
        if path is None:
            raise UsageError(f"dataset `{name}` has not been generated yet: run its task once")
        super().__init__(path=path, name=name, **options)
        self.recipe = recipe
