"""A row of a dataset, read by templates into what a line of a task folder would say: prompt, targets, choices."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.seams import BuildContext
from assay.core.types import Sample, Stage
from assay.prompts.field_template import FieldTemplate
from assay.prompts.written_text import ALLOWED, NEVER, row_variables


class RowSample:
    """Templates by what they fill: `prompt`, `target`, `targets` (a list), and extras by their names.

    `lists` names the extras that render to a list; `choices` always does.
    """

    def __init__(
        self,
        templates: Mapping[str, str | None],
        *,
        where: str,
        stage: Stage,
        part: str,
        context: BuildContext,
        lists: Collection[str] = (),
        empty_gold: str = NEVER,
    ) -> None:
        self._lists = {"choices", "targets", *lists}
        self._may_be_empty = empty_gold == ALLOWED
        self._fields = {
            fills: FieldTemplate(
                source,
                field=f"{where}.{_WRITTEN.get(fills, fills)}",
                stage=stage,
                part=part,
                context=context,
                empty_gold=empty_gold if fills in ("target", "targets") else None,
            )
            for fills, source in templates.items()
            if source is not None
        }

    def of(self, sample: Sample) -> Sample:
        """The sample as the templates read its row."""
        if not self._fields:
            return sample
        row = row_variables(sample)
        fields: dict[str, Any] = {}
        for fills, template in self._fields.items():
            text = template.render(row, sample)
            fields[fills] = self._listed(fills, text, sample) if fills in self._lists else text
            if fills == "targets" and not self._may_be_empty:
                self._refuse_missing(fields[fills], sample)
        prompt, target, targets = (fields.pop(name, None) for name in ("prompt", "target", "targets"))
        if "choices" in fields:
            fields["choices"] = [str(choice) for choice in fields["choices"]]
        if target is not None:
            targets = [target]
        return msgspec.structs.replace(
            sample,
            prompt=sample.prompt if prompt is None else prompt,
            targets=sample.targets if targets is None else tuple("" if each is None else str(each) for each in targets),
            extras={**sample.extras, **fields},
        )

    def _refuse_missing(self, targets: Sequence[Any], sample: Sample) -> None:
        for at, target in enumerate(targets):
            if target is None or not str(target).strip():
                raise self._fields["targets"].missing_gold(f"item {at} of the expected texts is empty", sample)
        if not targets:
            raise self._fields["targets"].missing_gold("the list of expected texts is empty", sample)

    def _listed(self, fills: str, text: str, sample: Sample) -> list[Any]:
        try:
            return parse_list(text)
        except ValueError as error:
            what = "a list of choices" if fills == "choices" else "a list"
            raise self._fields[fills].failure("bad_input", f"expected {what}, got {text[:100]!r}", sample) from error


_WRITTEN = {"target": "ground_truth", "targets": "ground_truths", "system": "system_prompt"}
"""The fields that have another name in a task file."""


def parse_list(text: str) -> list[Any]:
    """A rendered list: JSON, or the Python form that printing a list gives."""
    value = parse_printed(text)
    if not isinstance(value, (list, tuple)):
        raise ValueError("not a list")
    return list(value)


def parse_printed(text: str) -> Any:
    """A rendered value: JSON, or the Python form that printing a list or a mapping gives."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise ValueError("not a list or another printed value") from error
