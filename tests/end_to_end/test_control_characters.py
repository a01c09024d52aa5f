"""Whatever task files, keys, file names and answers hold, terminals and pages get no control character."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import environment

from assay.cli.main import SUBCOMMANDS, main

COLOUR, CLIPBOARD, C1, BIDI = "\x1b[31m", "\x1b]52;c;ZXZpbA==\x07", "\x9b2J\x85", "\u202e\u2066\u200f"
HOSTILE = f"a{COLOUR}{CLIPBOARD}{C1}{BIDI}\x08\x7f\rz"
QUOTED = json.dumps(HOSTILE)  # YAML reads JSON's escapes
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SEEN = r"a\u001b[31m\u001b]52;c;ZXZpbA==\u0007\u009b2J"

YAML_TASK = """\
about: {name: %(name)s}
dataset: {kind: inline, records: [{question: %(text)s, answer: %(text)s}]}
solver: {kind: single_turn, prompt: "{question}"}
scorers: [{kind: text_equals, expected: "{answer}"}]
"""
MODEL = f"""\
def answer(prompts):
    return [{HOSTILE!r} for prompt in prompts]

def broken(prompts):
    raise ValueError({HOSTILE!r})

def propose(prompts):
    return ["```\\n" + prompt[:20] + {HOSTILE!r} + "\\n```" for prompt in prompts]
"""
METRIC = f"""\
def fails(prediction, targets, extras):
    raise ValueError({HOSTILE!r})
"""
EVALUATOR = f"""\
import json, sys
sys.stderr.write({HOSTILE!r})
print(json.dumps({{"score": 0.5, "note": {HOSTILE!r}, {HOSTILE!r}: 1}}))
"""
BROKEN_EVALUATOR = f"import sys\nsys.stdout.write({HOSTILE!r})\nsys.exit({HOSTILE!r})\n"
JUDGED = ["--evaluator-command", f"{sys.executable} -S score.py", "--no-preflight"]

BAD_YAML = {
    "key": f"definition: {{}}\n{QUOTED}: 1\n",
    "twice": f"{QUOTED}: 1\n{QUOTED}: 2\n",
    "inner": f"about: {{{QUOTED}: 1}}\n",
    "value": f"kind: {QUOTED}\n",
    "include": f"about: !include {QUOTED}\n",
    "tag": "about: !%1B%5B31m x\n",
    "reference": f"dataset: {{$ref: {QUOTED}}}\n",
    "raw": f"about: {COLOUR}\n",
    "reversed": f"about: {{name: x{BIDI}}}\n{BIDI}: 1\n",
    "variable": "about: {name: ${\u202e}}\n",
    "scorer": YAML_TASK % {"name": QUOTED, "text": QUOTED} + f"metrics: [{QUOTED}]\n",
    "python": f"solver: {{kind: {QUOTED}, python: {QUOTED}}}\n",
    "binary": f"about: !!binary {QUOTED}\n",
}
BAD_LINES = {
    "field": {"id": "1", "prompt": "x", "targets": ["x"], "metric": "exact_match", HOSTILE: 1},
    "metric": {"id": "1", "prompt": "x", "targets": ["x"], "metric": HOSTILE},
    "id": {"id": HOSTILE, "prompt": "x", "targets": ["x"], "metric": "exact_match"},
    "post": {"id": "1", "prompt": "x", "targets": ["x"], "metric": "exact_match", "post_process": HOSTILE},
    "frozen": {"task_id": HOSTILE, "category": HOSTILE, "prompt": HOSTILE, "metric_name": HOSTILE, HOSTILE: 1},
}
COMMANDS = {
    "run": ["run", "f.jsonl", "--model", "hostile_model:answer", "--run-dir", "new-run"],
    "run, a model that fails": ["run", "f.jsonl", "--model", "hostile_model:broken", "--run-dir", "new-broken"],
    "run, a model of that name": ["run", "f.jsonl", "--model", HOSTILE],
    "run, a gate of that name": ["run", "f.jsonl", "--model", "hostile_model:answer", "--gate", HOSTILE],
    "run, a file of that name": ["run", f"{HOSTILE}.jsonl", "--run-dir", f"{HOSTILE}-run"],
    "run, no such file": ["run", f"{HOSTILE}.yaml"],
    "run --dry-run": ["run", f"{HOSTILE}.jsonl", "f.jsonl", "t.yaml", "--dry-run"],
    "a flag": ["run", f"--{HOSTILE}"],
    "a verb": [HOSTILE],
    "validate": ["validate", "f.jsonl", f"{HOSTILE}.jsonl", "t.yaml", "bad"],
    "validate --json": ["validate", "f.jsonl", f"{HOSTILE}.jsonl", "bad", "--json"],
    "check": ["check", "f.jsonl", f"{HOSTILE}.jsonl", "--all"],
    "check, a metric that fails": ["check", "failing.jsonl", "--all"],
    "list": ["list", "f.jsonl", f"{HOSTILE}.jsonl", "t.yaml"],
    "list, an unknown kind": ["list", HOSTILE],
    "show a task": ["show", "f.jsonl"],
    "show a file of that name": ["show", f"{HOSTILE}.jsonl"],
    "show YAML": ["show", "t.yaml"],
    "show --json": ["show", "f.jsonl", "--json"],
    "show an unknown name": ["show", HOSTILE],
    "show a run": ["show", "run"],
    "show a broken run": ["show", "broken"],
    "show a sample": ["show", "run", "--sample", "s1"],
    "show no such sample": ["show", "run", "--sample", HOSTILE],
    "leaderboard": ["leaderboard", "run", "broken", f"{HOSTILE}-made"],
    "leaderboard --csv": ["leaderboard", "run", "broken", "--csv"],
    "leaderboard --json": ["leaderboard", "run", "broken", "--json"],
    "leaderboard, no such run": ["leaderboard", HOSTILE],
    "diff": ["diff", "run", f"{HOSTILE}-made", "--allow-unequal", "--samples", "9", "--html", "diff.html"],
    "history": ["history", "run", "broken", f"{HOSTILE}-made", "--line-per", "all"],
    "history --json": ["history", "run", "broken", "--line-per", "all", "--json"],
    "history, no such run": ["history", HOSTILE],
    "plan": ["plan", "f.jsonl", "--baseline", "run", "--detect", "0.1"],
    "plan, no such run": ["plan", "f.jsonl", "--baseline", HOSTILE, "--detect", "0.1"],
    "agreement": ["agreement", "run"],
    "lock, no project": ["lock"],
    "agreement, no such run": ["agreement", HOSTILE],
    "diff --json": ["diff", "run", "broken", "--allow-unequal", "--json"],
    "merge": ["merge", "run"],
    "rescore": ["rescore", "run", "--run-dir", "again"],
    "report": ["report", "broken"],
    "completion": ["completion", "bash"],
    "export": ["export", "run", "broken", f"{HOSTILE}-made"],
    "export as JSON lines": ["export", "run", "broken", "--format", "jsonl"],
    "export a column of that name": ["export", "run", "--columns", HOSTILE],
    "report of a folder of that name": ["report", f"{HOSTILE}-made"],
    "view --export": ["view", "--export", f"{HOSTILE}-site", "run", "broken"],
    "view, no such folder": ["view", HOSTILE],
    "repair": ["repair", "broken"],
    "verify": ["verify", "run", f"{HOSTILE}.jsonl", "f.jsonl"],
    "score": ["score", "artifact.txt", *JUDGED],
    "score, an evaluator that fails": [
        *("score", "artifact.txt", "--no-preflight", "--evaluator-command", f"{sys.executable} -S broken.py")
    ],
    "score, a dataset": ["score", "artifact.txt", *JUDGED, "--dataset", "records.jsonl"],
    "score, an evaluator of that name": ["score", "artifact.txt", "--evaluator-command", HOSTILE],
    "schema": ["schema", HOSTILE],
    "doctor": ["doctor"],
    "model": ["model", "get", "--from", HOSTILE],
    "optimize": [
        *("optimize", "artifact.txt", *JUDGED, "--model", "hostile_model:propose", "--dataset", "records.jsonl"),
        *("--budget", "6", "--run-dir", "search", "--diff"),
    ],
    "optimize, a model that fails": [
        *("optimize", "artifact.txt", *JUDGED, "--model", "hostile_model:broken", "--dataset", "records.jsonl"),
        *("--budget", "6", "--run-dir", "search-broken", "--diff"),
    ],
    "recipe": ["recipe", "make", "gsm8k", "--data", f"{HOSTILE}.jsonl"],
    "recipe, other files": ["recipe", "make", "gsm8k", "--data", "gsm8k", "--accept-other-source", "--output", "gsm"],
    "recipe, unknown": ["recipe", "show", HOSTILE],
    "import lm-eval": ["import", "lm-eval", "lm.yaml", "--output", f"{HOSTILE}-imported"],
    "run promptfoo": ["run", "promptfoo.yaml", "--run-dir", "from-promptfoo"],
    "run openai-evals": ["run", f"openai-evals:{HOSTILE}", "--registry", "registry"],
    "import a file of that name": ["import", "lm-eval", f"{HOSTILE}.jsonl", "--output", "from-folder"],
    "init": ["init", f"{HOSTILE}-project"],
    "trust": ["trust", "reaching.jsonl", f"{HOSTILE}.jsonl", "--show"],
    "trust, a run": ["trust", f"{HOSTILE}-made"],
    "trust --list": ["trust", "--list"],
    "trust, no such file": ["trust", HOSTILE],
    **{f"YAML: {name}": ["run", f"bad/{name}.yaml"] for name in BAD_YAML},
    **{f"JSONL: {name}": ["run", f"bad/{name}.jsonl"] for name in BAD_LINES},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which every text is hostile, two runs of it, and a copy of one under a hostile name."""
    folder = tmp_path_factory.mktemp("hostile")
    sample = {"id": "s1", "prompt": HOSTILE, "targets": [HOSTILE], "metric": "exact_match"}
    sample["metadata"] = {HOSTILE: HOSTILE}
    write_lines(folder / "f.jsonl", sample)
    write_lines(folder / f"{HOSTILE}.jsonl", {**sample, "targets": ["other"]})
    write_lines(folder / "failing.jsonl", {**sample, "metric": "hostile_metric:fails"})
    write_lines(folder / "reaching.jsonl", {**sample, "metric": f"os:{HOSTILE}"})
    (folder / "hostile_metric.py").write_text(METRIC)
    (folder / "hostile_model.py").write_text(MODEL)
    (folder / "t.yaml").write_text(YAML_TASK % {"name": "t", "text": QUOTED})
    (folder / "score.py").write_text(EVALUATOR)
    (folder / "broken.py").write_text(BROKEN_EVALUATOR)
    (folder / "artifact.txt").write_text(HOSTILE)
    write_lines(folder / "records.jsonl", {HOSTILE: HOSTILE}, {"question": HOSTILE})
    (folder / "registry" / "evals").mkdir(parents=True)
    (folder / "registry" / "evals" / "e.yaml").write_text(f"{QUOTED}: {{class: {QUOTED}}}\n")
    (folder / "promptfoo.yaml").write_text(
        f"prompts: [{QUOTED}]\ntests: [{{vars: {{x: {QUOTED}}}, assert: [{{type: {QUOTED}, value: {QUOTED}}}]}}]\n"
    )
    (folder / "lm.yaml").write_text(
        f"task: {QUOTED}\ndataset_path: json\ndataset_kwargs: {{data_files: f.jsonl}}\noutput_type: generate_until\n"
        f"doc_to_text: '{{{{prompt}}}}'\ndoc_to_target: {QUOTED}\nmetric_list: [{{metric: {QUOTED}}}]\n{QUOTED}: 1\n"
    )
    (folder / "gsm8k").mkdir()
    write_lines(folder / "gsm8k" / "test.jsonl", {"question": HOSTILE, "answer": f"{HOSTILE}#### {HOSTILE}"})
    (folder / "bad").mkdir()
    for name, text in BAD_YAML.items():
        (folder / "bad" / f"{name}.yaml").write_text(text)
    for name, line in BAD_LINES.items():
        write_lines(folder / "bad" / f"{name}.jsonl", line)
    command(folder, "run", "f.jsonl", "--model", "hostile_model:answer", "--run-dir", "run")
    command(folder, "run", "f.jsonl", "--model", "hostile_model:broken", "--run-dir", "broken")
    made = f"{HOSTILE}-made"
    command(folder, "run", f"{HOSTILE}.jsonl", "--model", "hostile_model:answer", "--run-dir", made)
    assert all((folder / name / "leaderboard.json").exists() for name in ("run", "broken", made))
    return folder


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_nothing_that_was_written_elsewhere_steers_a_terminal(
    project: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(project)
    code = exit_code(arguments)
    out, err = capfdbinary.readouterr()
    said = (out + err).decode()
    assert STEERING.findall(said) == [], said
    assert "Traceback" not in said
    assert code in (0, 2, 3) or arguments[0] == "verify", said
    if "--json" in arguments:
        json.loads(out)


def test_every_command_was_tried() -> None:
    assert {arguments[0] for arguments in COMMANDS.values()} >= set(SUBCOMMANDS)


def test_what_was_written_is_still_told(project: Path) -> None:
    assert SEEN in command(project, "show", "f.jsonl").stdout.decode()
    assert SEEN in command(project, "check", "failing.jsonl").stderr.decode()
    assert SEEN in command(project, "run", "bad/key.yaml").stderr.decode()


def test_json_holds_the_very_text(project: Path) -> None:
    shown = json.loads(command(project, "show", "f.jsonl", "--json").stdout)
    assert shown["samples"][0]["prompt"] == HOSTILE


def test_pages_and_summaries_hold_none_either(project: Path) -> None:
    summary, junit = project / "summary.md", project / "junit.xml"
    more = ["--junit", str(junit), "--gate", "overall >= 0"]
    for model in ("answer", "broken"):
        flags = ["--model", f"hostile_model:{model}", "--run-dir", f"page-{model}", *more]
        command(project, "run", "f.jsonl", *flags, GITHUB_STEP_SUMMARY=str(summary))
        command(project, "report", f"page-{model}")
    command(project, "diff", "page-answer", "page-broken", "--allow-unequal", "--html", "pages.html")
    command(project, "leaderboard", "page-answer", "page-broken", "--html", "board.html")
    pages = [summary, junit, project / "pages.html", project / "board.html"]
    pages += [
        project / f"page-{model}" / name for model in ("answer", "broken") for name in ("report.md", "report.html")
    ]
    for page in pages:
        text = page.read_bytes().decode()
        assert STEERING.findall(text) == [], page
    assert SEEN in (project / "page-broken" / "report.html").read_text()


def command(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "assay", *arguments]
    return subprocess.run(words, cwd=folder, env=environment(**variables), capture_output=True)


def exit_code(arguments: list[str]) -> object:
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


def write_lines(path: Path, *lines: object) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
