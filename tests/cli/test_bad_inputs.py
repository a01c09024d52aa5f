"""Whatever a command is pointed at, it says what is wrong in a sentence: no traceback, no exit code of a gate."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, write_task
from tests.journals import write_lines

from assay.cli.main import main
from assay.runs.exit_status import BAD_INPUT, DONE, WITH_FAILURES

LM = 'task: t\ndataset_path: json\ndoc_to_text: "{{prompt}}"\ndoc_to_target: "{{targets[0]}}"\n'
FILES = {
    "empty.jsonl": b"",
    "noise.jsonl": b"\xff\xfe\x00noise\n" * 9,
    "noise.yaml": b"\xff\xfe\x00noise\n" * 9,
    "deep.json": b"[" * 100_000,
    "deep.jsonl": b'{"a":' * 100_000 + b"\n",
    "deep.yaml": b"[" * 20_000,
    "long.yaml": b"a: " + b"9" * 5000 + b"\n",
    "dates.yaml": b"a: 2020-13-45\nprompts: x\n",
    "circle.yaml": b"a: &a [*a]\nprompts: *a\ntests: *a\n",
    "itself.yaml": b"include: itself.yaml\n",
    "numbers.jsonl": b"1\n2\n",
    "half.jsonl": b'{"id": "\\ud800", "prompt": "\\ud800", "input": "\\ud800", "ideal": "\\ud800"}\n',
}
PATHS = [
    *FILES,
    "folder.jsonl",
    "folder.yaml",
    "nowhere",
    "nowhere.jsonl",
    "good.jsonl/x",
    "n" * 300,
    "loop",
    "link.yaml",
]
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "run": lambda path: ["run", path, "--run-dir", "out/run", "--quiet"],
    "run into": lambda path: ["run", "good.jsonl", "--run-dir", path, "--quiet"],
    "run --output": lambda path: ["run", "good.jsonl", "--run-dir", "out/run", "--quiet", "--output", path],
    "run --junit": lambda path: ["run", "good.jsonl", "--run-dir", "out/run", "--quiet", "--junit", path],
    "run --prices": lambda path: ["run", "good.jsonl", "--run-dir", "out/run", "--quiet", "--prices", path],
    "run --baseline": lambda path: ["run", "good.jsonl", "--dry-run", "--baseline", path, "--gate", "overall >= 0"],
    "run --dry-run": lambda path: ["run", path, "--dry-run"],
    "validate": lambda path: ["validate", path],
    "trust": lambda path: ["trust", path, "--show"],
    "check": lambda path: ["check", path],
    "list": lambda path: ["list", path],
    "show": lambda path: ["show", path],
    "show --prices": lambda path: ["show", "made", "--prices", path],
    "leaderboard": lambda path: ["leaderboard", path, "made"],
    "leaderboard --html": lambda path: ["leaderboard", "made", "--html", path],
    "diff": lambda path: ["diff", path, "made"],
    "diff --html": lambda path: ["diff", "made", "made", "--html", path],
    "merge": lambda path: ["merge", path],
    "rescore": lambda path: ["rescore", path, "--run-dir", "out/again"],
    "rescore tasks": lambda path: ["rescore", "made", path, "--run-dir", "out/again"],
    "rescore into": lambda path: ["rescore", "made", "--run-dir", path],
    "report": lambda path: ["report", path],
    "report --output": lambda path: ["report", "made", "--output", path],
    "view": lambda path: ["view", "--export", "out/site", path],
    "view --export": lambda path: ["view", "--export", path, "made"],
    "verify": lambda path: ["verify", path, "good.jsonl"],
    "verify tasks": lambda path: ["verify", "made", path],
    "score": lambda path: ["score", path, *EVALUATOR],
    "score --dataset": lambda path: ["score", "text.txt", "--dataset", path, *EVALUATOR],
    "score --evaluator-cwd": lambda path: ["score", "text.txt", "--evaluator-cwd", path, *EVALUATOR],
    "score --evaluator-command": lambda path: ["score", "text.txt", "--evaluator-command", path, "--no-preflight"],
    "optimize": lambda path: ["optimize", path, *SEARCH],
    "optimize --dataset": lambda path: ["optimize", "text.txt", "--dataset", path, *SEARCH],
    "optimize --task": lambda path: ["optimize", "text.txt", "--task", path, "--task-model", "toy", *SEARCH[:4]],
    "optimize --output": lambda path: ["optimize", "text.txt", "--output", path, "--dry-run", *SEARCH],
    "recipe": lambda path: ["recipe", "make", "bbh", "--data", path, "--output", "out/bbh", "--accept-other-source"],
    "import lm-eval": lambda path: ["import", "lm-eval", path, "--output", "out/i"],
    "import lm-eval --data": lambda path: ["import", "lm-eval", "lm.yaml", "--data", path, "--output", "out/i"],
    "run openai-evals --registry": lambda path: ["run", "openai-evals:x", "--registry", path],
    "import --output": lambda path: ["import", "lm-eval", "lm.yaml", "--output", path],
    "init": lambda path: ["init", path],
    "model get": lambda path: ["model", "get", "--from", path],
}
EVALUATOR = ["--evaluator-command", "true", "--no-preflight"]
SEARCH = ["--model", "toy", "--budget", "2", *EVALUATOR]


def start(folder: Path) -> None:
    """Good files, hostile ones, and a finished run."""
    write_task(folder / "good.jsonl", {"compute: 1 + 1": "2"})
    (folder / "text.txt").write_text("a text")
    (folder / "lm.yaml").write_text(LM)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    (folder / "folder.jsonl").mkdir()
    (folder / "loop").symlink_to("loop")
    assert main(["run", "good.jsonl", "--run-dir", "made", "--quiet"]) == DONE


@pytest.mark.parametrize("name", COMMANDS)
def test_no_input_ends_in_a_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start(tmp_path)
    for path in PATHS:
        capsys.readouterr()
        code = exit_code(COMMANDS[name](path))
        said = capsys.readouterr()
        assert code in (DONE, BAD_INPUT, WITH_FAILURES) or (name[:6], code) == ("verify", 1), (path, said.err)
        assert "Traceback" not in said.err
        assert code == DONE or said.err.strip() or said.out.strip(), path
        shutil.rmtree("out", ignore_errors=True)
        shutil.rmtree("nowhere", ignore_errors=True)


RUNS = {
    "an unknown aggregate": {"aggregates": [{"key": "score", "use": "none_such"}]},
    "an option that the aggregate has not": {"aggregates": [{"key": "score", "use": "mean", "options": {"x": 1}}]},
    "an option of the wrong kind": {"aggregates": [{"key": "score", "use": "mean", "options": {"field": [1]}}]},
    "an unknown metric": {"metric": "none_such", "scorers": [{"key": "m", "use": "none_such"}]},
    "an unknown solver": {"solver": {"key": "s", "use": "none_such"}},
    "another name": {"name": "other"},
}
READERS = ["show RUN", "report RUN", "leaderboard RUN made", "diff RUN made", "merge RUN", "rescore RUN --run-dir out"]
READERS += ["trust RUN --show", "view --export out RUN", "verify RUN good.jsonl"]


@pytest.mark.parametrize("reader", READERS)
def test_no_run_file_ends_in_a_traceback(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start(tmp_path)
    whole = json.loads(Path("made/run.json").read_text())
    changed = {name: [{**whole["definitions"][0], **change}] for name, change in RUNS.items()}
    files = {name: {**whole, "definitions": definitions} for name, definitions in changed.items()}
    files |= {"no model": {**whole, "model": {}}, "no tasks": {**whole, "tasks": {}}, "nothing": {}}
    for name, content in files.items():
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree("made", "run")
        Path("run/run.json").write_text(json.dumps(content))
        refused(reader, name, capsys)
    line = json.loads(Path("made/journal.jsonl").read_text())
    for change in ({"index": 1 << 40}, {"attempt": -5}, {"index": -1}, {"scores": 1}, {"task": []}):
        shutil.rmtree("run")
        shutil.copytree("made", "run")
        write_lines(Path("run/journal.jsonl"), [{**line, **change}])
        refused(reader, str(change), capsys)
    Path("run/journal.jsonl").unlink()
    Path("run/journal.jsonl").mkdir()
    refused(reader, "a folder as journal", capsys)


def refused(reader: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = exit_code(["run" if word == "RUN" else word for word in reader.split()])
    said = capsys.readouterr().err
    assert code in (DONE, BAD_INPUT, WITH_FAILURES) or (reader[:6], code) == ("verify", 1), (name, code, said)
    assert "Traceback" not in said
    shutil.rmtree("out", ignore_errors=True)


def test_a_run_that_cannot_be_written_to_can_be_reported_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start(tmp_path)
    Path("made/leaderboard.json").unlink()
    Path("made/leaderboard.json").mkdir()  # also for who may write anywhere
    capsys.readouterr()
    assert main(["report", "made"]) == BAD_INPUT, "nothing that was asked for was written"
    said = capsys.readouterr()
    assert "exact_match" in said.out
    assert "nothing was written" in said.err
    assert "the run was left as it is: made/leaderboard.json: could not write: Is a directory" in said.err
    assert not Path("made/report.html").exists()
    assert main(["report", "made", "--output", "report.html"]) == DONE
    assert Path("report.html").exists()
    assert main(["report", "made", "--json"]) == BAD_INPUT
    assert main(["report", "made", "--json", "--output", "report.html"]) == DONE


def test_aliases_that_expand_endlessly_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start(tmp_path)
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 50))]
    lines += [f"{field}: *a49" for field in ("prompts", "tests", "task", "dataset_kwargs", "models", "date")]
    Path("laughs.yaml").write_text("\n".join(lines))
    for command in (["import", "lm-eval", "laughs.yaml"], ["run", "laughs.yaml"]):
        assert main(command) == BAD_INPUT
    assert main(["show", "made", "--prices", "laughs.yaml"]) == BAD_INPUT
    assert capsys.readouterr().err.count("aliases expanded") == 3


TEMPLATES = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 'x' * 10**9 }}",
    "{% set x = 'x' * 1000000 %}{% for a in range(9999) %}{{ x }}{% endfor %}",
    "{{ " + "(" * 5000 + ")" * 5000 + " }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
]


@pytest.mark.parametrize("template", TEMPLATES, ids=range(len(TEMPLATES)))
def test_an_endless_template_is_stopped(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "d.jsonl", {"a": "b"})
    fields = {"doc_to_text": template, "doc_to_target": "b", "dataset_kwargs": {"data_files": "d.jsonl"}}
    (tmp_path / "lm.yaml").write_text(json.dumps({"task": "t", "dataset_path": "json", **fields}))
    tests = [{"assert": [{"type": "contains", "value": "x"}]}]
    (tmp_path / "foo.yaml").write_text(json.dumps({"prompts": [template], "tests": tests}))
    assert main(["import", "lm-eval", "lm.yaml", "--output", "out"]) == BAD_INPUT
    assert main(["run", "foo.yaml", "--run-dir", "out"]) == BAD_INPUT
    assert "Traceback" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"})
    assert assay("run", "t.jsonl", "--run-dir", "run", cwd=tmp_path).returncode == DONE
    done = assay("view", "--export", "/proc/site", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (BAD_INPUT, f"assay view: /proc/site: {os.strerror(2)}\n")


def exit_code(arguments: list[str]) -> object:
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("target", ["привет мир", "مرحبا بالعالم", "你好世界"])
@pytest.mark.parametrize("command", [["validate", "t.jsonl"], ["run", "t.jsonl", "--quiet"]])
def test_a_metric_that_cannot_read_a_target_is_warned_about(
    command: list[str], target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [
        {"id": n, "prompt": "p", "targets": [target] if n == "a" else [n, target], "metric": "rouge_l"} for n in "abc"
    ]
    Path("t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in examples))
    assert main(command) == DONE
    assert "warning: t.jsonl: rouge_l gives every answer 0.0, the target itself included, for sample `a`: it knows" in (
        capsys.readouterr().err
    )
    spec = {"task_id": "s", "category": "summary", "prompt": "Sum up.", "targets": [target], "metric_name": "rouge_l"}
    Path("t.jsonl").write_text(json.dumps({**spec, "post_process": "none"}) + "\n")
    assert main([*command, "--run-dir", "spec"] if command[0] == "run" else command) == DONE
    assert "warning: t.jsonl: rouge_l gives every answer 0.0" in capsys.readouterr().err


def test_a_run_is_neither_tasks_nor_put_among_them(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "sums.jsonl", {"compute: 1 + 1": "2"})
    among = assay("run", "tasks", "--run-dir", "tasks", cwd=tmp_path)
    assert among.returncode == BAD_INPUT
    assert "--run-dir tasks: holds the task file tasks/sums.jsonl; choose another folder" in among.stderr
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["sums.jsonl"]
    assert assay("run", "tasks", "--run-dir", "runs/a", cwd=tmp_path).returncode == DONE
    again = assay("run", "runs/a", cwd=tmp_path)
    assert again.returncode == BAD_INPUT
    assert "runs/a: is a run folder, not tasks; `assay show runs/a` shows it" in again.stderr


BAD_COMMANDS = [
    (["run", "nowhere.jsonl"], "no such file"),
    (["run", "startre"], "Did you mean `starter`?"),
    (["run", "--model", "tpy"], "Did you mean `toy`?"),
    (["run", "--model", "no_such_module:x"], "no module `no_such_module`"),
    (["run", "--model", "gpt-4o"], "`openai:gpt-4o`"),
    (["run", "--modle", "toy"], "unknown flag --modle. Did you mean --model?"),
    (["run", "--limit", "x"], "--limit: expected a whole number, got `x`"),
    (["check", "starter", "--limit", "0"], "--limit must be at least 1, got 0"),
    (["runn"], "Did you mean run?"),
    (["schema", "tsak"], "Did you mean task?"),
    (["show", "rouge"], "Did you mean `rouge_l`?"),
    (["list", "metrc"], "Did you mean `metric`?"),
    (["run", "--repeat", "0"], "--repeat must be at least 1"),
    (["run", "--min-sandbox", "full"], "--min-sandbox must be one of A, B, C, D, M, U, got full"),
    (["rescore"], "the following arguments are required: RUN\n"),
    (["run", "--level", "95"], "--level must be between 0 and 1"),
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
