"""A key is nowhere but in the header it is sent in: everything that a run writes and says is searched for it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import Server, assay, fake_server, without_capabilities, write_task

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
    arguments = (*arguments, "--model-arg", "cache=true")
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


JUDGED = """\
key: judged
display_name: Judged
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "compute: 1 + 1"}]}
  scorers:
    - {type: evaluator, key: judge, model_key: j, objective: right}
"""


@pytest.mark.parametrize("key", [KEY, "gsk_Zq83hVtt0192837465abcdefgh"])
def test_a_key_where_its_name_belongs_is_refused_before_anything_is_written(tmp_path: Path, key: str) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 2 + 3": "5"})
    address = ("--model-arg", "base_url=http://127.0.0.1:1/v1")
    commands = [
        ("t.jsonl", "--model", "openai:m", "--model-arg", f"api_key_env={key}"),
        ("t.jsonl", "--model", "openai:m", *address, "--model-arg", f"api_key_env={key}"),
        ("t.jsonl", "--model", f"command:{sys.executable} x.py", "--model-arg", f"pass_env={key}"),
    ]
    for arguments in commands:
        done = assay("run", *arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "must be the name of an environment variable" in done.stderr
        assert key not in done.stdout + done.stderr
        assert not (tmp_path / "runs").exists()


def test_a_model_file_with_a_key_for_a_name_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text("key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{n: 1}]}\n")
    (tmp_path / "judged.yaml").write_text(JUDGED)
    options = f"{{base_url: 'http://127.0.0.1:1/v1', api_key_env: '{KEY}'}}"
    config = f"{{connection_type: assay, model: 'openai:m', options: {options}}}"
    (tmp_path / "j.yaml").write_text(f"key: j\ndisplay_name: J\ntask: chat_completion\nconfig: {config}\n")
    done = assay("run", "judged.yaml", "--model", "toy", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "must be the name of an environment variable" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_key_in_an_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 2 + 3": "5"})
    queries = ("api_key", "subscription-key")
    for address in (
        f"http://u:{KEY}@127.0.0.1:1/v1",
        *(f"http://127.0.0.1:1/v1?{query}={KEY}" for query in queries),
    ):
        done = assay("run", "t.jsonl", "--model", f"vllm:m@{address}", cwd=tmp_path)
        assert done.returncode == 2
        assert search(told(done, tmp_path)) == []


CENSUS = """
import json, os, sys
from pathlib import Path

def parent(process):
    return int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])

run = os.getppid()
family = {}
for process in Path("/proc").iterdir():
    if not process.name.isdigit():
        continue
    try:
        ancestor = process
        while ancestor.name not in ("0", "1", str(run)):
            ancestor = Path("/proc") / str(parent(ancestor))
        if ancestor.name != str(run):
            continue
        words = process.joinpath("cmdline").read_bytes()
        variables = b"" if process.name == str(run) else process.joinpath("environ").read_bytes()
    except OSError:
        continue  # it has ended, or nobody may look
    family[process.name] = [words.decode("latin-1"), variables.decode("latin-1")]
Path("census.json").write_text(json.dumps(family))
"""
"""Writes down the words and the variables of every process that the run started, and the words of the run itself."""

ANSWER_DONE = """
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "text": "done"}), flush=True)
"""

CHILDREN = """\
key: children
display_name: Children
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "compute: 1 + 1"}]}
  scorers:
    - {type: python, key: snippet, compute_scores_snippet: "def compute_scores(sample): return {'ok': True}"}
    - {type: evaluator, key: command, command: ["PYTHON", census.py]}
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_no_child_of_a_run_is_given_the_key_and_no_process_shows_it(tmp_path: Path, server: Server) -> None:
    code = {
        "id": "f",
        "prompt": "compute: 1 + 1",
        "targets": ["ok"],
        "metric": "code_exec",
        "extras": {"io_pairs": [[1, 1]]},
    }
    pattern = {
        "id": "p",
        "prompt": "a word " * 9 + "said back",
        "targets": [],
        "metric": "forbidden_patterns",
        "extras": {"patterns": ["(a+)+b(c+)+$"]},
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(code) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps(pattern) + "\n")
    (tmp_path / "rows.yaml").write_text("key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{n: 1}]}\n")
    (tmp_path / "c.yaml").write_text(CHILDREN.replace("PYTHON", sys.executable))
    (tmp_path / "census.py").write_text(CENSUS + "\nprint(json.dumps({'score': 1.0}))\n")
    arguments = ("run", "a.jsonl", "b.jsonl", "c.yaml", "--model", "openai:m", "--concurrency", "1")
    model = ("--model-arg", f"base_url={server.base_url}", "--model-arg", "api_key_env=PLAINLY_NAMED")
    done = assay(*arguments, *model, cwd=tmp_path, forked=False, PLAINLY_NAMED=KEY, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    family = json.loads((tmp_path / "census.json").read_text())
    words = " ".join(each[0] for each in family.values())
    for child in ("sandbox", "snippets", "patterns", "census.py", "-m\0assay\0run"):
        assert child in words
    assert KEY not in json.dumps(family)


SPY = """
import os

def spy(*_):
    try:
        seen = open(f"/proc/{os.getppid()}/environ").read()
    except PermissionError:
        seen = "refused"
    with open("WHERE", "a") as file:
        file.write(f"KIND {seen} {sorted(os.environ)}\\n")
    return 1.0
"""
"""Tries to read what the process that started it has in its environment, and writes down what came of it."""


def spy(kind: str, where: Path) -> str:
    return SPY.replace("KIND", kind).replace("WHERE", str(where))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_no_child_of_a_run_reads_the_environment_of_the_run(tmp_path: Path, server: Server) -> None:
    seen = tmp_path / "seen.txt"
    own = {"id": "o", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "own_metrics:spy"}
    (tmp_path / "own_metrics.py").write_text(spy("worker", seen))
    (tmp_path / "a.jsonl").write_text(json.dumps(own) + "\n")
    (tmp_path / "rows.yaml").write_text("key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{n: 1}]}\n")
    snippet = spy("snippet", seen) + "def compute_scores(sample): return {'ok': spy() == 1.0}\n"
    task = CHILDREN.replace("PYTHON", sys.executable).replace("census.py", "spy.py")
    shown = "\"def compute_scores(sample): return {'ok': True}\""
    assert shown in task
    (tmp_path / "c.yaml").write_text(task.replace(shown, json.dumps(snippet)))
    (tmp_path / "spy.py").write_text(spy("evaluator", seen) + "spy()\nprint('{\"score\": 1.0}')\n")
    (tmp_path / "model.py").write_text("import json, sys\n" + spy("model", seen) + "spy()\n" + ANSWER_DONE)
    model = ("--model", "openai:m", "--model-arg", f"base_url={server.base_url}")
    program = ("--model", f"command:{sys.executable} model.py")
    for arguments in (("a.jsonl", "c.yaml", *model, "--score-workers", "1"), ("a.jsonl", *program)):
        done = assay("run", *arguments, cwd=tmp_path, before=without_capabilities(), OPENAI_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in seen.read_text().splitlines()]
    # the first run's metric ran in a worker; the second's here, where it sees the shell that started the run
    assert {kind for kind, *_ in lines} == {"worker", "snippet", "evaluator", "model"}
    assert {said for _, said, _ in lines[:-1]} == {"refused"}
    assert all("OPENAI_API_KEY" not in names for _, _, names in lines[:-1])


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_a_program_that_is_the_model_is_given_no_key_unless_it_is_named(tmp_path: Path) -> None:
    write_task(tmp_path / "t.jsonl", {"hello": "done"})
    (tmp_path / "census.py").write_text(CENSUS + ANSWER_DONE)
    model = f"command:{sys.executable} census.py"
    done = assay("run", "t.jsonl", "--model", model, cwd=tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert KEY not in (tmp_path / "census.json").read_text()
    assert search(told(done, tmp_path)) == []
    named = ("--model-arg", "pass_env=OPENAI_API_KEY", "--fresh")
    done = assay("run", "t.jsonl", "--model", model, *named, cwd=tmp_path, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert KEY in (tmp_path / "census.json").read_text()
    (tmp_path / "census.json").unlink()
    assert search(told(done, tmp_path)) == []
