"""What a provider sends with the text is kept, in the journal and on the board: lengths, refusals, tools, thoughts."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.end_to_end.commands import assay, write_task
from tests.servers.fake_openai import fake_openai
from tests.servers.fake_vendors import fake_anthropic, fake_gemini

KEYS = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-1", "GEMINI_API_KEY": "sk-1"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}


class Vendor(NamedTuple):
    """A server, and the prompts that make it cut, think, call, remember and refuse."""

    serve: Callable[[], AbstractAsyncContextManager[Any]]
    address: str
    cut: str
    thought: str
    called: str
    remembered: str
    refused: str


VENDORS = {
    "openai": Vendor(
        fake_openai,
        "base_url",
        'behave: message length {"content": "hi"}',
        'behave: message stop {"content": "42", "reasoning_content": "hmm"}',
        f"behave: message tool_calls {json.dumps({'content': 'Let me look.', 'tool_calls': [CALL]})}",
        "compute: 1 + 1",
        'behave: message stop {"content": null, "refusal": "I will not"}',
    ),
    "anthropic": Vendor(
        fake_anthropic,
        "address",
        *(f"behave: {what}" for what in ("length", "thinking", "tools", "cached", "refusal")),
    ),
    "gemini": Vendor(
        fake_gemini,
        "address",
        *(f"behave: {what}" for what in ("length", "thinking", "tools", "cached", "safety")),
    ),
}


def run_against(word: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    vendor = VENDORS[word]
    prompts = dict.fromkeys((vendor.cut, vendor.thought, vendor.called, vendor.remembered, vendor.refused), "42")
    write_task(cwd / "t.jsonl", prompts)

    async def served() -> subprocess.CompletedProcess[str]:
        async with vendor.serve() as server:
            where = f"base_url={getattr(server, vendor.address)}"
            flags = ("--model-arg", where, "--run-dir", "out", "--retries", "0")
            return await asyncio.to_thread(assay, "run", "t.jsonl", "--model", f"{word}:m", *flags, cwd=cwd, **KEYS)

    return asyncio.run(served())


@pytest.mark.parametrize("word", VENDORS)
def test_everything_a_provider_says_is_kept(word: str, tmp_path: Path) -> None:
    done = run_against(word, tmp_path)
    records = [json.loads(line) for line in (tmp_path / "out" / "journal.jsonl").read_text().splitlines()]
    cut, thought, called, remembered, refused = sorted(records, key=lambda record: record["index"])
    said = [record["trace"]["completions"][0] for record in (cut, thought, called, remembered)]
    assert said[0]["finish_reason"] == "length"
    assert (said[1]["text"], said[1]["reasoning"]) == ("42", "hmm")
    assert said[2]["tool_calls"][0]["function"]["name"] == "weather"
    assert said[3]["tokens_cached"] > 0
    if word == "openai":  # a refusal in words is an answer, and marked as one
        assert refused["trace"]["completions"][0]["refusal"] == "I will not"
    else:
        assert refused["failures"][0]["kind"] == "refused"
    board = json.loads((tmp_path / "out" / "leaderboard.json").read_text())["tasks"][0]
    assert board["truncated"] == 1
    head, _, row = done.stdout.splitlines()[:3]
    assert row.split("|")[head.split("|").index(" truncated ")].strip() == "1"
