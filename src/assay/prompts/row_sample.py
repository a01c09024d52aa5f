"""A row of a dataset, read by templates into what a line of a task folder would say: prompt, targets, choices."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.types import Sample, Stage
from assay.prompts.field_template import FieldTemplate


class RowSample:
    """Templates by what they fill: `prompt`, `choices` (a list), `system`, `target`; the rest stays as it is."""

    def __init__(
        self, templates: Mapping[str, str | None], *, where: str, stage: Stage, part: str, context: Any
    ) -> None:
        self._fields = {
            fills: FieldTemplate(source, field=f"{where}.{fills}", stage=stage, part=part, context=context)
            for fills, source in templates.items()
            if source is not None
        }

    def of(self, sample: Sample) -> Sample:
        """The sample as the templates read its row."""
        if not self._fields:
            return sample
        row = {"sample": sample.row or {}}
        found = {fills: template.render(row, sample) for fills, template in self._fields.items()}
        extras: dict[str, Any] = dict(sample.extras)
        if "choices" in found:
            extras["choices"] = self._listed(found["choices"], sample)
        if "system" in found:
            extras["system"] = found["system"]
        return msgspec.structs.replace(
            sample,
            prompt=found.get("prompt", sample.prompt),
            targets=(found["target"],) if "target" in found else sample.targets,
            extras=extras,
        )

    def _listed(self, text: str, sample: Sample) -> list[str]:
        try:
            return [str(choice) for choice in parse_list(text)]
        except ValueError as error:
            message = f"expected a list of choices, got {text[:100]!r}"
            raise self._fields["choices"].failure("bad_input", message, sample) from error


def parse_list(text: str) -> list[Any]:
    """A rendered list: JSON, or the Python form that printing a list gives."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            found = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise ValueError("not a list") from error
    if not isinstance(found, (list, tuple)):
        raise ValueError("not a list")
    return list(found)
