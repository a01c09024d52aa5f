"""`assay run`: what it prints, what it writes, what it asks and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.end_to_end.commands import assay, environment, fake_server, leaderboard, write_task

import assay as package
from assay.cli.main import main

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_no_arguments_run_the_starter_tasks(tmp_path: Path) -> None:
    done = assay("run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| **overall**" in done.stdout
    written = json.loads((tmp_path / "outputs" / "leaderboard.json").read_text())
    assert written["overall_score"] == 1.0
    assert written["adapter"] == "toy"


def test_the_leaderboard_fits_its_schema(tmp_path: Path) -> None:
    assay("run", "--include-per-example", cwd=tmp_path)
    schema = json.loads(assay("schema", "leaderboard", cwd=tmp_path).stdout)
    written = json.loads((tmp_path / "outputs" / "leaderboard.json").read_text())
    jsonschema.validate(written, schema)
    for field in ("task", "metric", "score", "correct", "total", "latency_ms", "failed", "timeouts", "sha256"):
        assert field in written["tasks"][0]


def test_the_same_command_twice_asks_nothing_twice(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    with fake_server() as server:
        command = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}", "--no-cache"]
        first, second = assay(*command, cwd=tmp_path), assay(*command, cwd=tmp_path)
        assert (first.returncode, second.returncode) == (0, 0), first.stderr
        assert set(server.seen().values()) == {1}


@pytest.mark.parametrize("flag", ["--output", "--junit"])
def test_a_result_that_could_not_be_written_is_refused_before_a_model_is_asked(tmp_path: Path, flag: str) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    done = assay("run", task, "--model", "toy", flag, "sums.jsonl/result", cwd=tmp_path)
    assert done.returncode == 2
    assert "sums.jsonl/result: cannot be written: Not a directory" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_key_is_needed_to_call_a_model_and_for_nothing_else(tmp_path: Path) -> None:
    sums = write_task(tmp_path / "sums.jsonl", SUMS)
    judged = tmp_path / "judged.yaml"
    judged.write_text(JUDGED)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "rows.jsonl").write_text('{"word": "one"}\n')
    model, judge = ("--model", "openai:gpt-4o-mini"), ("--model-for", "judge=openai:gpt-4o-mini")
    needed = "` needs a key: set the environment variable OPENAI_API_KEY (or write it into .env), or name another"
    for arguments in (
        ("run", sums, *model, "--dry-run"),
        ("run", judged, *judge, "--dry-run"),
        ("check", judged, *judge),
        ("show", judged, *judge, "--sample", "1"),
    ):
        done = assay(*arguments, cwd=tmp_path, OPENAI_API_KEY="")
        assert done.returncode == 0, done.stderr
        assert "OPENAI_API_KEY" not in done.stdout + done.stderr
    for arguments in (("run", sums, *model), ("run", judged, *judge)):
        done = assay(*arguments, cwd=tmp_path, OPENAI_API_KEY="")
        assert done.returncode == 2
        assert f"openai:gpt-4o-mini{needed}" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_shard_of_several_models_checks_all_of_them_before_the_first_one_is_called(tmp_path: Path) -> None:
    write_task(tmp_path / "sums.jsonl", SUMS)
    models = ("--model", "toy", "--model", "openai:gpt-4o-mini")
    done = assay("run", "sums.jsonl", *models, "--shard", "1/2", cwd=tmp_path, OPENAI_API_KEY="")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "runs").exists()


def test_what_is_said_of_one_of_several_models_names_it(tmp_path: Path) -> None:
    write_task(tmp_path / "sums.jsonl", SUMS)
    (tmp_path / "mine.py").write_text("def raises(prompt):\n    raise ValueError(prompt)\n")
    models = ("--model", "toy", "--model", "second=mine:raises")
    done = assay("run", "sums.jsonl", *models, "--gate", "overall > 0.5", cwd=tmp_path)
    assert "\ntoy: 1 of 1 gates met" in done.stderr
    said = [line for line in done.stderr.splitlines() if "attempts failed" in line or "gate cannot tell" in line]
    assert said
    assert all(line.startswith("second: ") for line in said)


def test_one_file_for_several_models_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "sums.jsonl", SUMS)
    done = assay("run", "sums.jsonl", "--model", "toy", "--model", "stub", "--junit", "j.xml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "leave out --run-dir, --output and --junit" in done.stderr


JUDGED = """\
key: judged
display_name: Judged
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "Say {{ sample.word }}"}]}
  scorers:
    - {type: model_as_a_judge_scorer, key: rated, model_key: judge, user_prompt: "Rate it."}
"""


def test_the_cache_serves_another_run_and_says_so(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    with fake_server() as server:
        command = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}"]
        command += ["--model-arg", "cache=true"]
        assay(*command, "--run-dir", "a", cwd=tmp_path)
        done = assay(*command, "--run-dir", "b", cwd=tmp_path)
        assert set(server.seen().values()) == {1}
    assert "10 of 10 answers came from an earlier run, through the cache" in done.stderr
    a, b = leaderboard(tmp_path / "a"), leaderboard(tmp_path / "b")
    assert a["fingerprint"] == b["fingerprint"]
    assert b["tasks"][0]["cached"] == 10  # type: ignore[index]


def test_a_mistyped_path_is_answered_with_the_nearest_file(tmp_path: Path) -> None:
    write_task(tmp_path / "sums.jsonl", SUMS)
    assert "Did you mean `sums.jsonl`?" in assay("run", "sum.jsonl", cwd=tmp_path).stderr


def test_a_module_is_named_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def answer(prompt):\n    return prompt\n")
    assert "`bot:NAME`" in assay("run", "--model", "bot", cwd=tmp_path).stderr
    assert "Did you mean `bot:answer`?" in assay("run", "--model", "bott:answer", cwd=tmp_path).stderr


@pytest.mark.parametrize(("name", "said"), [("a.csv", "there are no rows"), ("a.json", "there are no rows")])
def test_other_kinds_of_files_are_told_apart(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("[]")
    assert said in assay("run", name, cwd=tmp_path).stderr


def test_bad_records_are_left_out_only_when_allowed_and_then_counted(tmp_path: Path) -> None:
    good = Path(package.__file__).parent / "formats" / "data" / "tasks.jsonl"
    path = tmp_path / "tasks.jsonl"
    path.write_text(good.read_text() + '{"task_id": "broken"}\n')
    refused = assay("run", path, "--limit", "1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--allow-bad-tasks" in refused.stderr
    allowed = assay("run", path, "--allow-bad-tasks", "--run-dir", "run", cwd=tmp_path)
    assert allowed.returncode in (0, 3), allowed.stderr
    assert sum(row["skipped_records"] for row in leaderboard(tmp_path / "run")["tasks"]) >= 1  # type: ignore[attr-defined]


def test_data_goes_to_stdout_and_talk_to_stderr(tmp_path: Path) -> None:
    done = assay("run", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["schema"] == "leaderboard.v1"
    assert "run: " in done.stderr


def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    model = tmp_path / "waits.py"
    model.write_text(
        "import os, threading\n"
        "gate = threading.Event()\n"
        "def answer(prompt):\n"
        "    if prompt == 'compute: 5 + 1' and not os.path.exists('again'):\n"
        "        open('reached', 'w').close()\n"
        "        gate.wait(60)\n"
        "    return str(eval(prompt.removeprefix('compute:')))\n"
    )
    write_task(tmp_path / "sums.jsonl", SUMS)
    command = ["run", "sums.jsonl", "--model", "waits:answer", "--concurrency", "1", "--run-dir", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *command],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "reached").exists():
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "press Ctrl-C again" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "rerun the same command to resume" in said
    assert leaderboard(tmp_path / "run")["tasks"][0]["remaining"] == 5  # type: ignore[index]
    (tmp_path / "again").touch()
    done = assay(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert leaderboard(tmp_path / "run")["overall_score"] == 1.0


def test_a_short_run_loads_only_what_it_needs(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"})
    command = [sys.executable, "-X", "importtime", "-m", "assay", "run", str(task), "--run-dir", "r"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "assay.core.run" in loaded
    unneeded = {"yaml", "sqlite3", "httptools", "importlib.metadata", "email.message", "assay.formats.declarative"}
    assert not unneeded & loaded


def test_the_tables_of_several_models_are_headed_by_their_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2"})
    assert main(["run", "sums.jsonl", "--model", "new=stub:2", "--model", "echo"]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("#")]
    assert headings == ["## new", "## echo"]
    assert main(["run", "sums.jsonl", "--model", "new=stub:2"]) == 0
    assert "#" not in capsys.readouterr().out
