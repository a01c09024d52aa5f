"""The model's processes: one that died is started again, and none has a key."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.contracts.model import closing
from tests.models.embedded.asking import ask

from assay.core.errors import FailureError
from assay.core.types import Completion, Request
from assay.models.embedded.model import EmbeddedModel

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")


def test_a_process_that_died_is_a_failure_worth_a_retry_and_is_started_again(folder: Path) -> None:
    async def killed() -> tuple[FailureError, Completion]:
        async with closing(EmbeddedModel(folder=str(folder), max_tokens=8, workers=1)) as model:
            await model.generate(Request(prompt="hi"))
            (pid,) = model._workers[0].service.pids
            asking = asyncio.ensure_future(model.generate(Request(prompt="hi" * 20, max_tokens=30)))
            await asyncio.sleep(0)
            os.kill(pid, 9)
            with pytest.raises(FailureError) as caught:
                await asking
            return caught.value, await model.generate(Request(prompt="hi"))

    error, completion = asyncio.run(killed())
    assert (error.failure.kind, error.failure.retryable) == ("crashed", True)
    assert completion.text == ask(folder, Request(prompt="hi"), workers=1)[0].text


def test_its_processes_are_given_no_keys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    async def environment() -> bytes:
        async with closing(EmbeddedModel(folder=str(folder), workers=1)) as model:
            await model.generate(Request(prompt="hi"))
            (pid,) = model._workers[0].service.pids
            return Path(f"/proc/{pid}/environ").read_bytes()

    if Path("/proc/self/environ").exists():
        assert b"sk-secret" not in asyncio.run(environment())
