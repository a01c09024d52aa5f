"""What an answer is compared with where a sample has no targets: what the judge is shown and the model is not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_COLUMN = re.compile(r"\bsample(?:\.(\w+)|\[['\"](\w+)['\"]\])")
MOST_EXPECTED = 4000
"""Characters of what was expected that a score keeps."""


def judge_columns(options: Mapping[str, Any]) -> set[str]:
    """The columns that a judge with these options is shown."""
    prompts = f"{options.get('system_prompt', '')} {options.get('user_prompt', '')}"
    named = {str(options["target_column"])} if "target_column" in options else set()
    return named | {name for groups in _COLUMN.findall(prompts) for name in groups if name}


def unseen_columns(row: Mapping[str, Any], columns: Collection[str], prompt: str) -> dict[str, str]:
    """Those of the columns that the model's prompt does not show."""
    cells = ((name, cell) for name, cell in row.items() if name in columns and cell is not None)
    texts = ((name, [str(item) for item in (cell if isinstance(cell, list) else [cell])]) for name, cell in cells)
    unseen = ((name, "\n".join(item for item in cell if item not in prompt)) for name, cell in texts)
    return {name: text[:MOST_EXPECTED] for name, text in unseen if text}
