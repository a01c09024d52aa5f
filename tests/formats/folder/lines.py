"""Lines of task folders for the tests: a good example, and files of such lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def example(**changes: Any) -> dict[str, Any]:
    """A good example with some fields changed."""
    return {"id": "a-00", "prompt": "compute: 2 + 2", "targets": ["4"], "metric": "exact_match", **changes}


def code(**extras: Any) -> dict[str, Any]:
    return example(metric="code_exec", extras=extras)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in example().items() if key != name}


def write(folder: Path, name: str, *lines: str | dict[str, Any]) -> Path:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path
