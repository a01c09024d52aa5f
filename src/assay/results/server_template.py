"""Who puts a prompt into the words that a model was trained with: assay, or the server behind an address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.run_file import RunFile
from assay.text.wording import few


def is_served(model: Mapping[str, Any]) -> bool:
    """Whether a model of this identity (`RunFile.model`) is behind a server, and gets what assay's adapters send."""
    return ("base_url" in model or model.get("adapter") == "litellm" or "engine" in model) and "templates" not in model


def applies_template(model: Mapping[str, Any]) -> bool:
    """Whether the server gets messages, and applies the chat template; a completions endpoint gets text."""
    return is_served(model) and model.get("mode") != "completions"


def template_notices(run: RunFile) -> list[str]:
    """Tasks of lm_eval that were not sent as its own program sends them, because the endpoint takes only messages."""
    if "base_url" not in run.model or not applies_template(run.model):
        return []
    as_text = [task for task in run.definitions if not task.solver.options.get("turns")]
    tasks = [task.name for task in as_text if task.plan.system_in_requests]
    if not tasks:
        return []
    return [
        f"prompts of lm_eval tasks ({few(tasks)}) were sent as user messages, which the server puts into its chat "
        "template; lm_eval sends text: --model-arg mode=completions, or say --chat-template"
    ]
