"""promptfoo's prompts are asked as promptfoo asks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.task_imports.promptfoo import import_promptfoo

CASES = Path(__file__).parent / "cases" / "promptfoo"


def recorded() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((CASES / "answers.json").read_text())
    return answers


def test_every_prompt_is_asked_as_promptfoo_asks_it() -> None:
    found = import_promptfoo(CASES / "prompts.yaml")
    asked = [row["extras"].get("messages") or row["prompt"] for rows in found.tasks.values() for row in rows]
    assert asked == [chat_or_text(text) for text in recorded()["prompts"]]
    assert not found.losses


def chat_or_text(text: str) -> Any:
    """What a chat provider there makes of a prompt."""
    if text.startswith("- role:"):
        role, content = text.removeprefix("- role: ").split("\n  content: ")
        return [{"role": role, "content": content}]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, list) else text
