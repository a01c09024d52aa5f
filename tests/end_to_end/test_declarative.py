"""Declarative files through the whole program: servers, keys, caches, kills, diffs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tests.end_to_end.commands import Server, assay, fake_server, start_assay

SECRET = "sk-never-to-be-seen-3141592653"
RUN = """\
models:
  - key: server
    display_name: Server
    config: {url: "%(url)s/chat/completions", model_key: fake, api_key: $FAKE_API_KEY}
  - key: judge
    display_name: Judge
    config: {url: "%(url)s", model_key: fake-judge, api_key: "${FAKE_API_KEY}"}
datasets:
  - key: sums
    display_name: Sums
    source: {type: local, file_path: sums.jsonl}
tasks:
  - key: sums
    display_name: Sums
    description: ""
    definition:
      dataset: {key: sums}
      solver:
        type: single_turn_solver
        input_builder:
          type: chat_completion
          input_messages: [{role: user, content: "%(before)scompute: {{ sample.a }} + 1"}]
      scorers:
        - {type: string_equals, key: exact, ground_truth: "{{ sample.total }}"}
        - type: model_as_a_judge_scorer
          key: rated
          model_key: judge
          user_prompt: |
            The server says the last line back.
            {{ 1 if solver_output.output == (sample.total | string) else sample.other }}
          use_structured_outputs: true
evaluation:
  key: e
  display_name: E
  task_specifications: [{task_key: sums, model_key: server}]
"""


def project(folder: Path, server: Server, rows: list[dict[str, Any]], before: str = "") -> Path:
    (folder / "run.yaml").write_text(RUN % {"url": server.base_url, "before": before})
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / ".env").write_text("FAKE_API_KEY=none\n")
    return folder


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def test_a_run_file_against_servers_with_a_key_from_env(tmp_path: Path) -> None:
    rows = [
        {"a": 1, "total": 2, "other": 0},
        {"a": 2, "total": 4, "other": 0.25},
        {"a": 3, "total": 9, "other": "nonsense"},
    ]
    with fake_server() as server:
        project(tmp_path, server, rows)
        (tmp_path / ".env").write_text(f"FAKE_API_KEY={SECRET}\n")
        done = assay("run", "run.yaml", "--run-dir", "out", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    records = {record["index"]: record for record in journal(tmp_path / "out")}
    assert [score["values"] for score in records[0]["scores"]] == [{"is_correct": True}, {"score": 1.0}]
    assert [score["values"] for score in records[1]["scores"]] == [{"is_correct": False}, {"score": 0.25}]
    # the judge said nonsense: the other scorer's score stays, and the attempt is a failure
    assert [score["values"] for score in records[2]["scores"]] == [{"is_correct": False}]
    assert records[2]["failures"][0]["stage"] == "scorer"
    board = json.loads((tmp_path / "out" / "leaderboard.json").read_text())["tasks"][0]
    assert board["judge_tokens_in"] > 0
    assert board["tokens_in"] > 0
    everything = "".join(path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert SECRET not in everything + done.stdout + done.stderr


def test_a_killed_run_resumes_and_judges_nothing_twice(tmp_path: Path) -> None:
    rows = [{"a": n, "total": n + 1, "other": 0} for n in range(400)]
    with fake_server() as server:
        project(tmp_path, server, rows)
        process = start_assay("run", "run.yaml", "--run-dir", "out", "--concurrency", "4", cwd=tmp_path)
        path = tmp_path / "out" / "journal.jsonl"
        while not path.exists() or path.stat().st_size < 20_000:
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        process.wait()
        finished = len(journal_lines(path))
        assert 0 < finished < 400
        done = assay("run", "run.yaml", "--run-dir", "out", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        asked = server.seen()
    assert len(journal(tmp_path / "out")) == 400
    # what was finished was not asked again, nor judged again; what was in flight may have been
    assert sum(asked.values()) <= 2 * 400 + 2 * 8
    board = json.loads((tmp_path / "out" / "leaderboard.json").read_text())["tasks"][0]
    assert (board["score"], board["scored"], board["complete"]) == (1.0, 400, True)


def journal_lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def test_retries_apply_to_declarative_tasks_too(tmp_path: Path) -> None:
    rows = [{"a": 1, "total": 2, "other": 0}]
    with fake_server() as server:
        project(tmp_path, server, rows, before="behave: status 500 2\\n")
        done = assay("run", "run.yaml", "--run-dir", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert journal(tmp_path / "out")[0]["trace"]["completions"][0]["retries"] == 2


def test_the_other_commands_take_a_declarative_run(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        'key: t\ndisplay_name: T\ndescription: ""\ndefinition:\n  dataset: {key: d}\n'
        "  solver: {type: single_turn_solver, input_builder: {type: generic, template: '\"{{ sample.q }}\"'}}\n"
        '  scorers: [{type: string_equals, ground_truth: "{{ sample.a }}"}]\n'
    )
    (tmp_path / "d.jsonl").write_text('{"q": "compute: 1 + 1", "a": 2}\n{"q": "compute: 1 + 2", "a": 4}\n')
    assert assay("run", "t.yaml", "--run-dir", "one", cwd=tmp_path).returncode == 0
    assert assay("run", "t.yaml", "--run-dir", "two", "--model", "stub:2", cwd=tmp_path).returncode == 0
    for arguments, says in (
        (["diff", "one", "two"], "no difference: every sample that both have was scored the same"),
        (["report", "one"], "0.500"),
        (["show", "t.yaml"], "request:\ncompute: 1 + 1"),
        (["list", "t.yaml"], "2 samples, accuracy (string_equals), t.yaml"),
        (["rescore", "one"], "0.500"),
    ):
        done = assay(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert says in done.stdout
    # a corrected target is scored with the old answer, a changed question is not
    (tmp_path / "d.jsonl").write_text('{"q": "compute: 1 + 1", "a": 2}\n{"q": "compute: 1 + 2", "a": 3}\n')
    assert "1.000" in assay("rescore", "one", "t.yaml", "--run-dir", "three", cwd=tmp_path).stdout
    (tmp_path / "d.jsonl").write_text('{"q": "compute: 1 + 1", "a": 2}\n{"q": "compute: 2 + 1", "a": 3}\n')
    assert (
        "1 have a different prompt now" in assay("rescore", "one", "t.yaml", "--run-dir", "four", cwd=tmp_path).stderr
    )
