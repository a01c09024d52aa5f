"""Plain data whose texts are templates: rendered as a whole, at its place in a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.seams import BuildContext
from assay.core.types import Sample, Stage
from assay.prompts.field_template import FieldTemplate


class TemplatedData:
    """Lists and mappings keep their shape; every text in them is rendered."""

    def __init__(self, data: Any, *, field: str, stage: Stage, part: str, context: BuildContext) -> None:
        self._data = data
        self._text: FieldTemplate | None = None
        self._part: dict[str, TemplatedData] | list[TemplatedData] | None = None
        if isinstance(data, str) and ("{{" in data or "{%" in data):
            self._text = FieldTemplate(data, field=field, stage=stage, part=part, context=context)
        elif isinstance(data, Mapping):
            self._part = {
                name: TemplatedData(item, field=f"{field}.{name}", stage=stage, part=part, context=context)
                for name, item in data.items()
            }
        elif isinstance(data, list | tuple):
            self._part = [
                TemplatedData(item, field=f"{field}[{at}]", stage=stage, part=part, context=context)
                for at, item in enumerate(data)
            ]

    def render(self, variables: Mapping[str, Any], sample: Sample) -> Any:
        if self._text is not None:
            return self._text.render(variables, sample)
        if isinstance(self._part, dict):
            return {name: item.render(variables, sample) for name, item in self._part.items()}
        if self._part is not None:
            return [item.render(variables, sample) for item in self._part]
        return self._data
