"""The prompts of an lm-evaluation-harness task: description, few-shot examples, question and answer prefix."""

from __future__ import annotations

from random import Random
from typing import Any

from assay.bridges.lm_eval.importer_documents import Documents
from assay.bridges.lm_eval.importer_fields import Document, Fields
from assay.core.errors import UsageError

SEED = 1234
"""The default seed of lm-evaluation-harness for drawing few-shot examples."""


class Prompts:
    """One prompt per document; call it in their order, since all draws share one random generator."""

    def __init__(self, fields: Fields, documents: Documents) -> None:
        self._fields = fields
        self._documents = documents
        self._config = fields.config
        self._shots = self._config.get("fewshot_config") or {}
        self._random = Random(SEED)
        needed = documents.shots + (documents.from_test and not documents.in_order)
        if documents.shots and len(documents.pool) < needed:
            raise UsageError(
                f"{fields.path}: {needed} documents to draw {documents.shots} few-shot examples from are needed, "
                f"got {len(documents.pool)}"
            )

    def of(self, doc: Document) -> str:
        description = self._fields.resolved("description", self._config.get("description"), doc)
        question = self._fields.text(doc)
        prefix = self._fields.resolved("gen_prefix", self._config.get("gen_prefix"), doc)
        delimiter = self._fields.target_delimiter if prefix and _touch(question, prefix) else ""
        return description + "".join(map(self._example, self._drawn(doc))) + question + delimiter + prefix

    def _drawn(self, doc: Document) -> list[Document]:
        documents, count = self._documents, self._documents.shots
        if not count:
            return []
        if documents.in_order:
            pool = [each for each in documents.pool if each != doc] if documents.from_test else documents.pool
            return pool[:count]
        if not documents.from_test:
            return self._random.sample(documents.pool, count)
        drawn = [each for each in self._random.sample(documents.pool, count + 1) if each != doc][:count]
        if len(drawn) < count:  # the question occurs more than once
            drawn = self._random.sample([each for each in documents.pool if each != doc], count)
        return drawn

    def _example(self, doc: Document) -> str:
        question = self._fields.text(doc, self._shots.get("doc_to_text"))
        answer = self._fields.answer(doc, self._shots.get("doc_to_target"), self._shots.get("doc_to_choice"))
        prefix = self._fields.resolved("gen_prefix", self._setting("gen_prefix", None), doc)
        delimiter = str(self._setting("target_delimiter", " "))
        if answer == "":
            return question + (delimiter if prefix and _touch(question, prefix) else "") + prefix
        if prefix:
            question += delimiter if _touch(question, prefix) else ""
            return question + prefix + (" " if _touch(prefix, answer) else "") + answer + self._between()
        return question + delimiter + answer + self._between()

    def _between(self) -> str:
        return str(self._setting("fewshot_delimiter", "\n\n"))

    def _setting(self, field: str, default: Any) -> Any:
        """A setting of the few-shot section takes precedence over the task's."""
        value = self._shots.get(field)
        return self._config.get(field, default) if value is None else value


def _touch(before: str, after: str) -> bool:
    """Whether two texts would join without whitespace."""
    return before != "" and not (before[-1].isspace() or after[0].isspace())
