"""The hash of a dataset follows its content, wherever it lies."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.inline import Inline
from assay.datasets.tables import table

ROWS = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_hash_follows_the_content(tmp_path: Path) -> None:
    first = table(path=written(tmp_path, "a.jsonl", '{"a": 1}\n')).sha256
    assert table(path=written(tmp_path, "b.jsonl", '{"a": 1}\n')).sha256 == first
    assert table(path=written(tmp_path, "b.jsonl", '{"a": 2}\n')).sha256 != first
    assert Inline(samples=ROWS).sha256 != Inline(samples=ROWS[:1]).sha256
