"""A board says when tasks of lm_eval went out in another form than in lm_eval."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.results.server_template import template_notices
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.task_records import TaskPlan

CHAT = {"name": "openai:m", "adapter": "openai", "base_url": "http://127.0.0.1:9/v1", "mode": "chat"}


def run_of(model: dict[str, Any], *, as_written: bool = True, turns: bool = False) -> RunFile:
    definition = TaskDefinition(
        name="triviaqa",
        format="lm_eval",
        dataset=DatasetSpec(use="lm_eval"),
        solver=PartSpec(key="requests", use="lm_eval", options={"turns": True} if turns else {}),
        scorers=(),
        aggregates=(),
        metric="exact_match",
        plan=TaskPlan(system_in_requests=as_written),
    )
    return RunFile(
        schema=RUN_SCHEMA, fingerprint="", tasks={"triviaqa": "0"}, model=model, settings={}, config=RunConfig(),
        definitions=(definition,), versions={}, created="",
    )  # fmt: skip


def test_a_chat_endpoint_gets_messages_and_the_board_says_so() -> None:
    (notice,) = template_notices(run_of(CHAT))
    assert notice.startswith("prompts of lm_eval tasks (triviaqa) were sent as user messages")
    assert "--model-arg mode=completions" in notice


@pytest.mark.parametrize(
    "run",
    [
        run_of(CHAT, turns=True),
        run_of(CHAT, as_written=False),
        run_of({**CHAT, "mode": "completions"}),
        run_of({"name": "embedded:m", "adapter": "embedded", "engine": "numpy-float32"}),
        run_of({"name": "transformers:m", "adapter": "transformers"}),
        run_of({"name": "toy"}),
    ],
)
def test_nothing_is_said_where_nothing_else_was_sent(run: RunFile) -> None:
    assert template_notices(run) == []
