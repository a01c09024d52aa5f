"""Templates at their place in a task: what goes wrong names task, field, sample and variable."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Stage
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template, template_reads
from assay.prompts.written_text import ALLOWED, NEVER, NO_NULLS, NullGoldError


class FieldTemplate:
    """The template of one field; rendering it never raises anything but a `FailureError` with the place."""

    def __init__(
        self,
        source: str,
        *,
        field: str,
        stage: Stage,
        part: str,
        context: BuildContext = NO_CONTEXT,
        empty_gold: str | None = None,
    ) -> None:
        """`empty_gold` is given for an expected text: what is done where the sample has none."""
        self.source = source
        self._empty_gold = empty_gold
        self.task = context.task
        self.field = field
        self._where = f"task `{context.task}`, field `{field}`" if context.task else f"field `{field}`"
        self._stage: Stage = stage
        self._part = part
        self._template = Template(source, where=self._where)
        if context.task:
            context.templates.append(self)

    def columns(self) -> Collection[str]:
        return template_reads(self.source).columns

    def render(self, variables: Mapping[str, Any], sample: Sample) -> str:
        given = variables if self._empty_gold is None else {**variables, NO_NULLS: self._empty_gold}
        try:
            text = self._template.render(given)
        except NullGoldError as error:
            raise self.missing_gold(str(error), sample) from error
        except RenderError as error:
            raise self.failure("template", f"{error}{self._others_missing(str(error), sample)}", sample) from error
        if self._empty_gold not in (None, ALLOWED) and not text.strip():
            raise self.missing_gold("the expected text is blank", sample)
        return text

    def missing_gold(self, message: str, sample: Sample) -> FailureError:
        """A failure for want of an expected text."""
        way_out = "; `empty_gold: allowed` lets it be empty" if self._empty_gold != NEVER else ""
        return self.failure("missing_gold", f"{message}{way_out}", sample)

    def _others_missing(self, message: str, sample: Sample) -> str:
        """Rendering ends at the first column that is not there; the others are named with it."""
        if sample.row is None:
            return ""
        read = template_reads(self.source)
        columns = dict.fromkeys(path[1] for path in read.paths if path[0] == "sample" and len(path) > 1)
        others = [name for name in columns if name not in sample.row and f"`{name}`" not in message]
        if not others or "sample" in read.guarded:
            return ""
        return f"; there is no {', '.join(f'`sample.{name}`' for name in others)} either"

    def failure(self, kind: str, message: str, sample: Sample) -> FailureError:
        """A failure of this field at this sample."""
        sentence = f"{self._where}, sample `{sample.id}`: {message}"
        return FailureError(Failure(stage=self._stage, part=self._part, field=self.field, kind=kind, message=sentence))


class TemplatedData:
    """Plain data whose texts are templates: lists and mappings keep their shape, every text in them is rendered."""

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
