"""The fields of an lm-evaluation-harness task for one document: its text, its choices, its targets."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template

Document = dict[str, Any]


class Function(str):
    """A `!function module.name`: the task's own Python, which is not run here."""

    __slots__ = ()


class Fields:
    """The value of each field for a document, as lm-evaluation-harness reads it."""

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path = path
        self.config = config
        self.target_delimiter = str(config.get("target_delimiter", " "))

    def text(self, doc: Document, override: Any = None) -> str:
        text = self._value("doc_to_text", doc, override)
        if not isinstance(text, str) or (text.isdigit() and self._has_choices() and not self._is_column(doc, override)):
            raise UsageError(
                f"{self.path}: doc_to_text gives {text!r}, the place of a choice: tasks with several inputs cannot be "
                "carried over"
            )
        return text

    def target(self, doc: Document, override: Any = None) -> Any:
        """A text, a place among the choices, or a list of either."""
        setting = self.config.get("doc_to_target") if override is None else override
        target = self._value("doc_to_target", doc, override)
        if not isinstance(setting, str) or setting in doc or not isinstance(target, str):
            return target
        if target.isdigit() and self._has_choices():
            return int(target)
        if len(target) >= 2 and target[0] == "[" and target[-1] == "]":
            value = _literal(target)
            return target if value is None else value
        return target

    def choices(self, doc: Document, override: Any = None) -> list[str]:
        setting = self.config.get("doc_to_choice") if override is None else override
        choices = list(setting.values()) if isinstance(setting, dict) else self._value("doc_to_choice", doc, override)
        if isinstance(choices, str) and setting not in doc:
            choices = _literal(choices)
        if not isinstance(choices, list) or len(choices) < 2:
            raise UsageError(f"{self.path}: doc_to_choice gives no list of choices{self._hint()}")
        for choice in choices:
            if not isinstance(choice, str):  # `no` and `1` in YAML, which lm-evaluation-harness rejects too
                raise UsageError(
                    f"{self.path}: doc_to_choice gives {choice!r}, which is not a text; write it in quotes"
                )
        return choices

    def golds(self, doc: Document, choices: list[str]) -> list[int]:
        """The places of the right choices; none when a target is not among them."""
        target = self.target(doc)
        places = [self._place(each, choices) for each in (target if isinstance(target, list) else [target])]
        return [place for place in places if place is not None] if None not in places else []

    def has_several_targets(self, documents: list[Document]) -> bool:
        """Whether the first document has a list of targets: then all are taken to have one."""
        return bool(documents) and isinstance(self.target(documents[0]), list)

    def texts(self, doc: Document, *, several: bool) -> list[str]:
        """The right answers of a generation task."""
        target = self.target(doc)
        if self._has_choices():
            choices = self.choices(doc)
            place = self._place(target, choices)
            if place is None:
                raise UsageError(f"{self.path}: doc_to_target gives {target!r}, none of the {len(choices)} choices")
            return [choices[place]]
        if several and isinstance(target, list):
            return [str(each) for each in target]
        return [str(target)]

    def answer(self, doc: Document, target_override: Any, choices_override: Any) -> str:
        """The answer of a few-shot example."""
        target = self.target(doc, target_override)
        if isinstance(target, int) and (choices_override is not None or self._has_choices()):
            choices = self.choices(doc, choices_override)
            if not -len(choices) <= target < len(choices):
                raise UsageError(f"{self.path}: doc_to_target gives {target}, none of the {len(choices)} choices")
            return choices[target]
        return str(target[0] if isinstance(target, list) and target else target)

    def resolved(self, field: str, setting: Any, doc: Document) -> str:
        """A column's name or a template; "" where there is neither."""
        if setting is None or setting == "":
            return ""
        return str(self._value(field, doc, setting))

    def _has_choices(self) -> bool:
        return self.config.get("doc_to_choice") is not None

    def _is_column(self, doc: Document, override: Any) -> bool:
        return (self.config.get("doc_to_text") if override is None else override) in doc

    @staticmethod
    def _place(target: Any, choices: list[str]) -> int | None:
        """The index of the right choice: a number is an index, a text is a choice."""
        if isinstance(target, int):
            return int(target) if 0 <= target < len(choices) else None
        return choices.index(target) if target in choices else None

    def _value(self, field: str, doc: Document, override: Any) -> Any:
        """A field is a column's name, a template, or a value."""
        setting = self.config.get(field) if override is None else override
        if isinstance(setting, Function):
            raise UsageError(f"{self.path}: {field} is Python (`!function {setting}`), which an import does not run")
        if setting is None:
            raise UsageError(f"{self.path}: {field} is missing")
        if not isinstance(setting, str):
            return setting
        if setting in doc:
            return doc[setting]
        try:
            # Jinja drops one line break at the end of a template, lm-evaluation-harness keeps it
            return Template(setting + "\n", where=f"{self.path}: a template").render(doc)
        except RenderError as error:
            message = f"{self.path}: the template {setting!r} does not fit the data: {error}{self._hint()}"
            raise UsageError(message) from error

    def _hint(self) -> str:
        """Missing columns may be made by the task's own Python."""
        process_docs = self.config.get("process_docs")
        if process_docs is None:
            return ""
        return f"; process_docs (`!function {process_docs}`), which is not run, may make it"


def _literal(text: str) -> Any:
    """The value of a Python literal; None when the text is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is kept, as in lm-evaluation-harness
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
