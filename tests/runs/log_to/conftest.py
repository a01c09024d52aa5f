"""One small run with a right, a wrong and a broken attempt, to be logged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": "right", "prompt": "compute: 1 + 1", "targets": ["2"]},
        {"id": "wrong", "prompt": "compute: 1 + 1", "targets": ["3"]},
        {"id": "broken", "prompt": "raise", "targets": ["3"]},
    ]
    text = "".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines)
    (tmp_path / "sums: easy.jsonl").write_text(text)
    return "sums: easy.jsonl"


def answer(prompt: str) -> str:
    """The model: right about sums, and it breaks when told to."""
    if prompt == "raise":
        raise ValueError("told to")
    return "2"
