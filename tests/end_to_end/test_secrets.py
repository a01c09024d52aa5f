"""A key is nowhere but in the header it is sent in: everything that a run writes and says is searched for it."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.commands import Server, assay, fake_server, write_task

KEY = "sk-live-Zq83hVtt-0192837465-do-not-tell"
PROMPTS = {
    "compute: 2 + 3": "5",
    "behave: echo_key 401\ncompute: 1 + 1": "2",
    "behave: echo_key 400\ncompute: 1 + 2": "3",
    "behave: status 500 1\ncompute: 1 + 3": "4",
}


def told(done: subprocess.CompletedProcess[str], folder: Path) -> dict[str, bytes]:
    """Everything there is to search: what was said, and every file below the folder."""
    found = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    found |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".env"}
    return found


def search(things: dict[str, bytes]) -> list[str]:
    key = KEY.encode()
    forms = (key, base64.b64encode(key).rstrip(b"=")[:-1], key[::-1], key.hex().encode())
    return [name for name, content in things.items() if any(form in content for form in forms)]


@pytest.fixture(scope="module")
def server() -> Server:  # type: ignore[misc]
    with fake_server() as running:
        yield running


@pytest.mark.parametrize("where", ["environment", ".env"])
def test_nothing_a_run_writes_or_says_holds_the_key(tmp_path: Path, server: Server, where: str) -> None:
    write_task(tmp_path / "t.jsonl", PROMPTS)
    variables = {"OPENAI_API_KEY": KEY} if where == "environment" else {"MY_KEY_NAME": ""}
    if where == ".env":
        (tmp_path / ".env").write_text(f"export OPENAI_API_KEY={KEY}\n")
    arguments = ("run", "t.jsonl", "--model", "openai:m", "--model-arg", f"base_url={server.base_url}")
    done = assay(
        *arguments, "--include-per-example", "--retries", "1", "--output", "board.json", cwd=tmp_path, **variables
    )
    assert done.returncode == 3, done.stderr
    assert "2 of 4 attempts failed" in done.stderr
    assert "[key]" in done.stderr  # the server did repeat the key, and it was taken out
    things = told(done, tmp_path)
    assert any(name.endswith("journal.jsonl") for name in things)
    assert any(name.endswith("cache.sqlite") for name in things)
    assert search(things) == []
    for again in (("report", next((tmp_path / "runs").iterdir())), ("show", next((tmp_path / "runs").iterdir()))):
        assert search(told(assay(*again, cwd=tmp_path, **variables), tmp_path)) == []


def test_a_key_among_the_options_is_refused_before_anything_is_written(tmp_path: Path, server: Server) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 2 + 3": "5"})
    arguments = ("run", "t.jsonl", "--model", "openai:m", "--model-arg", f"base_url={server.base_url}")
    done = assay(*arguments, "--model-arg", f'extra={{"user": "{KEY}"}}', cwd=tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 2
    assert search(told(done, tmp_path)) == []
    assert not (tmp_path / "runs").exists()


def test_a_key_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 2 + 3": "5"})
    for address in (f"http://u:{KEY}@127.0.0.1:1/v1", f"http://127.0.0.1:1/v1?api_key={KEY}"):
        done = assay("run", "t.jsonl", "--model", f"vllm:m@{address}", cwd=tmp_path)
        assert done.returncode == 2
        assert search(told(done, tmp_path)) == []
