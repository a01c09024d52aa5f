"""What stands in `.env` of a cloned folder: it gives keys by name, and changes nothing else of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import ROOT, Server, assay, fake_server

ENV = """\
OPENAI_BASE_URL=http://127.0.0.1:{port}/v1
HTTPS_PROXY=http://127.0.0.1:{port}
SSL_CERT_FILE=evil.pem
ASSAY_ALLOW_UNSANDBOXED=1
LD_PRELOAD=./evil.so
PATH=./evil
TEAM_WEBHOOK=http://127.0.0.1/hook
CITY=Bern
MY_MODEL_KEY=sk-of-the-env-file-0123456789
"""

TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: $CITY}]}
  scorers:
    - {type: evaluator, key: command, command: ["PYTHON", look.py]}
    - type: python
      key: snippet
      compute_scores_snippet: |
        import os
        def compute_scores(sample):
            return {"ok": True, "seen": " ".join(os.environ.values())}
"""
LOOK = """
import json, os
print(json.dumps({"score": 1.0, "variables": dict(os.environ)}))
"""
HERE = """
import json, os

def look(prediction, targets, extras):
    with open("harness.json", "w") as file:
        json.dump(dict(os.environ), file)
    return 1.0
"""


@pytest.fixture(scope="module")
def server() -> Server:  # type: ignore[misc]
    with fake_server() as running:
        yield running


def project(folder: Path, port: int) -> None:
    (folder / ".env").write_text(ENV.format(port=port))
    (folder / "rows.yaml").write_text("key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{n: 1}]}\n")
    (folder / "t.yaml").write_text(TASK.replace("PYTHON", sys.executable))
    (folder / "look.py").write_text(LOOK)
    (folder / "own.py").write_text(HERE)
    own = {"id": "o", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "own:look"}
    (folder / "u.jsonl").write_text(json.dumps(own) + "\n")


def journal(folder: Path) -> list[dict[str, object]]:
    (path,) = folder.glob("runs/*/journal.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_nothing_of_it_is_exported_to_the_run_or_to_a_child(tmp_path: Path, server: Server) -> None:
    project(tmp_path, server.port)
    done = assay("run", "t.yaml", "u.jsonl", "--model", "toy", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    harness = json.loads((tmp_path / "harness.json").read_text())
    records = json.dumps(journal(tmp_path))
    assert '"variables"' in records
    for value in ("evil", f"127.0.0.1:{server.port}", "ASSAY_ALLOW_UNSANDBOXED", "sk-of-the-env-file"):
        assert value not in json.dumps(harness), value
        assert value not in records, value
    assert "Bern" in records  # a `$NAME` of a task file is looked up
    assert "warning: .env: OPENAI_BASE_URL has no effect there; set it in the environment" in done.stderr
    assert "warning: .env: ASSAY_ALLOW_UNSANDBOXED has no effect there" in done.stderr


@pytest.mark.parametrize("more", [["t.yaml"], ["u.jsonl"], ["u.jsonl", "--dry-run"]])
def test_it_sends_the_users_key_nowhere(tmp_path: Path, server: Server, more: list[str]) -> None:
    project(tmp_path, server.port)
    before = server.seen()
    done = assay(
        *("run", *more, "--model", "openai:m", "--retries", "0", "--patience", "0"),
        cwd=tmp_path,
        OPENAI_API_KEY="sk-of-the-user-0123456789",
    )
    assert done.returncode == 2
    assert server.seen() == before
    assert ".env: OPENAI_BASE_URL is not read from there, so OPENAI_API_KEY would be sent" in done.stderr


LIBRARY = """
import os
from types import SimpleNamespace as Some

for line in open(".env"):  # as some releases do, whatever mode they are in
    name, _, value = line.strip().partition("=")
    os.environ.setdefault(name, value)

async def acompletion(**arguments):
    message = Some(content="2", tool_calls=None)
    return Some(choices=[Some(message=message, finish_reason="stop")], usage=None)
"""


def test_a_library_that_exports_it_is_undone(tmp_path: Path, server: Server) -> None:
    project(tmp_path, server.port)
    (tmp_path / "site" / "litellm").mkdir(parents=True)
    (tmp_path / "site" / "litellm" / "__init__.py").write_text(LIBRARY)
    path = f"{ROOT / 'src'}:{ROOT}:{tmp_path / 'site'}"
    done = assay("run", "u.jsonl", "--model", "litellm:openai/m", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "evil" not in (tmp_path / "harness.json").read_text()


@pytest.mark.parametrize("where", [".env", "keys.txt"])
def test_a_key_is_found_in_it_by_its_name(tmp_path: Path, server: Server, where: str) -> None:
    project(tmp_path, server.port)
    (tmp_path / ".env").rename(tmp_path / where)
    chosen = () if where == ".env" else ("--env", where)
    model = (
        "--model",
        "openai:m",
        "--model-arg",
        f"base_url={server.base_url}",
        "--model-arg",
        "api_key_env=MY_MODEL_KEY",
    )
    # the server repeats the key it was sent, and what is sent is cut out again
    (tmp_path / "u.jsonl").write_text(
        json.dumps({"id": "o", "prompt": "behave: echo_key 401", "targets": [], "metric": "own:look"}) + "\n"
    )
    done = assay("run", "u.jsonl", *model, *chosen, cwd=tmp_path)
    assert "[key]" in done.stderr, done.stderr
    assert "sk-of-the-env-file" not in done.stderr


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    done = assay("run", "--env", "missing", cwd=tmp_path)
    assert (done.returncode, "missing: there is no such file" in done.stderr) == (2, True)
