"""The values that queries use, row by row: an exported copy carries them, because it has no index."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from assay.results.query.fields import Schema
from assay.viewer.columns import IndexColumns
from assay.viewer.index import Snapshot
from assay.viewer.journal_lines import IndexLine, mapping_in
from assay.viewer.rows import keys_of, label_text, short_texts


class QueryRows:
    """The values of rows, by field but the key: a number, texts, or a number `n` that is also written as texts `t`."""

    def __init__(self, snapshot: Snapshot, schema: Schema, columns: IndexColumns) -> None:
        self._snapshot = snapshot
        self._columns = columns
        self._decode = msgspec.json.Decoder(IndexLine).decode
        self._numbers = {
            field.name: numbers
            for field in schema.fields
            if field.kind in ("number", "any") and (numbers := columns.numbers(field.name)) is not None
        }
        coded = [field.name for field in schema.fields if field.kind != "number" and field.name != "flip"]
        self._coded = {name: texts for name in coded if (texts := columns.coded(name)) is not None}

    def row(self, row: int, line: bytes) -> dict[str, Any]:
        texts = self._texts_in(self._decode(line))
        texts |= {name: list(words) for name, column in self._coded.items() if (words := column.words(row))}
        numbers = {name: float(column[row]) for name, column in self._numbers.items() if not np.isnan(column[row])}
        both = {name: {"n": number, "t": texts[name]} if name in texts else number for name, number in numbers.items()}
        return {**texts, **both}

    def _texts_in(self, line: IndexLine) -> dict[str, list[str]]:
        """What the index has hashes of."""
        texts = {"id": [line.sample_id]}
        texts |= {name: [text] for name, text in short_texts(line, self._snapshot.measure(line.task))}
        for score in line.scores:
            texts |= {f"{score.name}.{name}": [each] for name, each in score.values.items() if isinstance(each, str)}
        for key, value in keys_of(mapping_in(bytes(line.metadata)) or {}):
            texts[key if key.startswith("sample.") else f"metadata.{key}"] = [label_text(value)]
        return texts
