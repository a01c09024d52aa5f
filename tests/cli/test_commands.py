"""The commands as a user types them: what they print, what they write, how they exit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.end_to_end.commands import assay, environment, fake_server, leaderboard, write_task

import assay as package

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
    schema = json.loads((Path(package.__file__).parent / "reports" / "leaderboard.v1.schema.json").read_text())
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


def test_the_cache_serves_another_run_and_says_so(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    with fake_server() as server:
        command = ["run", task, "--model", "openai:fake", "--model-arg", f"base_url={server.base_url}"]
        assay(*command, "--run-dir", "a", cwd=tmp_path)
        assay(*command, "--run-dir", "b", cwd=tmp_path)
        assert set(server.seen().values()) == {1}
    a, b = leaderboard(tmp_path / "a"), leaderboard(tmp_path / "b")
    assert a["fingerprint"] == b["fingerprint"]
    assert b["tasks"][0]["cached"] == 10  # type: ignore[index]


BAD_COMMANDS = [
    (["run", "nowhere.jsonl"], "no such file"),
    (["run", "startre"], "Did you mean `starter`?"),
    (["run", "--model", "tpy"], "Did you mean `toy`?"),
    (["run", "--model", "no_such_module:x"], "no module `no_such_module`"),
    (["run", "--model", "gpt-4o"], "`openai:gpt-4o`"),
    (["run", "--modle", "toy"], "there is no flag --modle. Did you mean --model?"),
    (["run", "--limit", "x"], "--limit: expected a whole number, not `x`"),
    (["check", "starter", "--limit", "0"], "--limit must be at least 1, not 0"),
    (["runn"], "Did you mean run?"),
    (["schema", "tsak"], "Did you mean task?"),
    (["show", "rouge"], "Did you mean `rouge_l`?"),
    (["list", "metrc"], "Did you mean `metric`?"),
    (["run", "--repeat", "0"], "--repeat must be at least 1"),
    (["run", "--level", "95"], "--level is a share between 0 and 1"),
    (["run", "--model-arg", "oops"], "expected KEY=VALUE"),
    (["report", "nowhere"], "no such leaderboard file or run folder"),
    (["diff", "a.json", "b.json"], "no such leaderboard file"),
    (["verify", "a.json", "starter"], "no such leaderboard file"),
    (["init", "."], "not an empty folder"),
]


@pytest.mark.parametrize(("command", "said"), BAD_COMMANDS, ids=[" ".join(command) for command, _ in BAD_COMMANDS])
def test_bad_input_gets_a_sentence_and_leaves_nothing_behind(tmp_path: Path, command: list[str], said: str) -> None:
    (tmp_path / "something").touch()
    done = assay(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["something"]


def test_a_mistyped_flag_gets_two_lines_and_not_a_page(tmp_path: Path) -> None:
    assert len(assay("run", "--temprature", "0", cwd=tmp_path).stderr.splitlines()) == 2


def test_a_mistyped_path_is_told_the_nearest_file(tmp_path: Path) -> None:
    write_task(tmp_path / "sums.jsonl", SUMS)
    assert "Did you mean `sums.jsonl`?" in assay("run", "sum.jsonl", cwd=tmp_path).stderr


def test_files_may_stand_on_both_sides_of_a_flag(tmp_path: Path) -> None:
    one, two = write_task(tmp_path / "one.jsonl", SUMS), write_task(tmp_path / "two.jsonl", SUMS)
    assay("run", one, "--limit", "1", two, "--run-dir", "run", cwd=tmp_path)
    assert [row["task"] for row in leaderboard(tmp_path / "run")["tasks"]] == ["one", "two"]  # type: ignore[attr-defined]


def test_a_module_is_named_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def answer(prompt):\n    return prompt\n")
    assert "`bot:NAME`" in assay("run", "--model", "bot", cwd=tmp_path).stderr
    assert "Did you mean `bot:answer`?" in assay("run", "--model", "bott:answer", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("name", "said"), [("a.csv", "dataset of a YAML task"), ("a.json", "one JSON object per line")]
)
def test_other_kinds_of_files_are_told_apart(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("[]")
    assert said in assay("run", name, cwd=tmp_path).stderr


def test_validate_lists_every_bad_line_and_exits_with_2(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "a", "prompt": "x", "targets": ["y"], "metric": "exact_mach"}\nnot json\n')
    done = assay("validate", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean `exact_match`?" in done.stdout
    assert f"{path}:2" in done.stdout
    as_json = json.loads(assay("validate", path, "--json", cwd=tmp_path).stdout)
    assert [error["line"] for error in as_json["files"][0]["errors"]] == [1, 2]


def test_the_bundled_fixtures_are_valid(tmp_path: Path) -> None:
    assert assay("validate", "fixtures", "starter", cwd=tmp_path).returncode == 0


def test_bad_records_are_left_out_only_when_allowed_and_then_counted(tmp_path: Path) -> None:
    good = Path(package.__file__).parent / "tasks" / "data" / "tasks.jsonl"
    path = tmp_path / "tasks.jsonl"
    path.write_text(good.read_text() + '{"task_id": "broken"}\n')
    refused = assay("run", path, "--limit", "1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--allow-bad-tasks" in refused.stderr
    allowed = assay("run", path, "--allow-bad-tasks", "--run-dir", "run", cwd=tmp_path)
    assert allowed.returncode in (0, 3), allowed.stderr
    assert sum(row["left_out"] for row in leaderboard(tmp_path / "run")["tasks"]) >= 1  # type: ignore[attr-defined]


def test_diff_names_what_moved_and_which_answers_changed(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--include-per-example", "--output", "a.json", cwd=tmp_path)
    assay("run", task, "--model", "stub:3", "--include-per-example", "--output", "b.json", cwd=tmp_path)
    done = assay("diff", "a.json", "b.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no difference" in assay("diff", "a.json", "a.json", cwd=tmp_path).stdout
    told = assay("diff", "a.json", "b.json", cwd=tmp_path)
    assert re.search(r"sums\s*\|\s*1\.000\s*\|\s*0\.100\s*\|\s*-0\.900", told.stdout), told.stdout


def test_verify_tells_the_same_files_from_changed_ones(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--output", "board.json", cwd=tmp_path)
    assert assay("verify", "board.json", task, cwd=tmp_path).returncode == 0
    write_task(task, {**SUMS, "compute: 99 + 1": "100"})
    changed = assay("verify", "board.json", task, cwd=tmp_path)
    assert changed.returncode == 1
    assert "changed" in changed.stdout


def test_rescore_uses_the_old_answers_with_new_targets(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", {**SUMS, "compute: 1 + 1": "three"})
    assay("run", task, "--run-dir", "old", cwd=tmp_path)
    write_task(task, SUMS)
    done = assay("rescore", "old", task, "--run-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "scored 10 answers again" in done.stderr
    assert leaderboard(tmp_path / "old")["overall_score"] == 0.9
    assert leaderboard(tmp_path / "new")["overall_score"] == 1.0


def test_report_makes_a_deleted_leaderboard_again(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--run-dir", "run", cwd=tmp_path)
    before = leaderboard(tmp_path / "run")
    (tmp_path / "run" / "leaderboard.json").unlink()
    (tmp_path / "run" / "report.md").unlink()
    assert assay("report", "run", cwd=tmp_path).returncode == 0
    assert leaderboard(tmp_path / "run")["fingerprint"] == before["fingerprint"]
    assert (tmp_path / "run" / "report.md").exists()


def test_check_finds_a_gold_answer_that_does_not_score_and_an_empty_one_that_does(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    lines = [
        {"id": "fine", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "multiple_choice"},
        {"id": "never", "prompt": "choose: B or C", "targets": ["bee"], "metric": "multiple_choice"},
        {"id": "twice", "prompt": "choose: B or C", "targets": ["B"], "metric": "multiple_choice"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = json.loads(assay("check", path, "--json", cwd=tmp_path).stdout)[0]["findings"]
    assert {finding["problem"] for finding in found} >= {"contradiction"}
    assert assay("check", "starter", cwd=tmp_path).returncode == 0


def test_a_starter_project_runs_as_it_is(tmp_path: Path) -> None:
    assert assay("init", "project", cwd=tmp_path).returncode == 0
    project = tmp_path / "project"
    checked = assay("check", "tasks", cwd=project)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = assay("run", "tasks", "--model", "my_model:MyModel", "--run-dir", "run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert leaderboard(project / "run")["overall_score"] == 1.0


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
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "run the same command again to go on" in said
    assert leaderboard(tmp_path / "run")["tasks"][0]["owed"] == 5  # type: ignore[index]
    (tmp_path / "again").touch()
    done = assay(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert leaderboard(tmp_path / "run")["overall_score"] == 1.0
