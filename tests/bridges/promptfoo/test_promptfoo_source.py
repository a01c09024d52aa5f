"""promptfoo configurations are prompted and scored here as they are there, by promptfoo's own answers.

`cases/answers.json` is what promptfoo 0.121.20 makes of the files next to it: of `verdicts.yaml` whether each test
passes and its score, of `reading/` what the provider `echo` was sent. Where that program is installed (`PROMPTFOO`
names its command), it is run again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.promptfoo.grader_server import grader_server
from tests.tasks.model_files import write_model_file

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.models.adapters.stub import EchoModel
from assay.results.board.leaderboard import read_leaderboard
from assay.solvers.prompt_template import prompt_template
from assay.tasks.built_tasks import build_dataset
from assay.tasks.load import load_tasks

CASES = Path(__file__).parent / "cases"
COMMAND = shutil.which(os.environ.get("PROMPTFOO", "promptfoo"))
NODE = shutil.which("node")


def recorded(name: str) -> Any:
    return json.loads((CASES / "answers.json").read_text())[name]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the configuration, while the grader that it names answers."""
    folder = tmp_path_factory.mktemp("verdicts")
    with grader_server() as port, pytest.MonkeyPatch.context() as patch:
        (folder / "verdicts.yaml").write_text((CASES / "verdicts.yaml").read_text().replace("PORT", str(port)))
        patch.setenv("PFKEY", "sk-x")
        patch.chdir(folder)
        yield folder


@pytest.mark.skipif(NODE is None, reason="JavaScript assertions need node")
def test_every_verdict_and_score_is_promptfoos(verdicts: Path) -> None:
    assert main(["run", "verdicts.yaml", "--trust", "--run-dir", "run", "--quiet"]) == 0
    records = [json.loads(line) for line in (verdicts / "run" / "journal.jsonl").read_text().splitlines()]
    scores = {int(each["sample_id"]): each["scores"][0]["values"] for each in records if "sample_id" in each}
    found = [[bool(scores[number]["score"]), scores[number]["passed"]] for number in sorted(scores)]
    wanted = recorded("verdicts")
    assert [passed for passed, _ in found] == [passed for passed, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-9)
    summaries = read_leaderboard(verdicts / "run").tasks[0]
    assert summaries.score == pytest.approx(sum(passed for passed, _ in wanted) / len(wanted))


def test_every_prompt_is_sent_with_every_test_as_promptfoo_sends_it() -> None:
    found = []
    for definition in read_promptfoo(CASES / "reading" / "promptfooconfig.yaml"):
        solver = prompt_template(**definition.solver.options)
        found.append([asyncio.run(solver(each, EchoModel())).prediction for each in build_dataset(definition)])
    assert found == recorded("reading")


@pytest.mark.skipif(COMMAND is None, reason="promptfoo is not installed (PROMPTFOO names its command)")
def test_what_promptfoo_says_is_what_was_recorded(verdicts: Path) -> None:
    results = ask_promptfoo(verdicts / "verdicts.yaml")
    assert [[each["success"], each["score"]] for each in results] == recorded("verdicts")


def ask_promptfoo(config: Path) -> list[dict[str, Any]]:
    words = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")
    quiet = {f"PROMPTFOO_DISABLE_{word}": "1" for word in words} | {"PROMPTFOO_CONFIG_DIR": str(config.parent / ".pf")}
    out = config.parent / "out.json"
    command = [str(COMMAND), "eval", "-c", str(config), "-o", str(out), "--no-cache", "--no-table", "--no-progress-bar"]
    subprocess.run(command, env={**os.environ, **quiet}, check=False, stdout=subprocess.DEVNULL)
    results: list[dict[str, Any]] = json.loads(out.read_text())["results"]["results"]
    return sorted(results, key=lambda each: (each["promptIdx"], each["testIdx"]))


CONFIG = """
prompts: ["Say {{word}}", {raw: "Shout {{word}}!", label: loud}]
providers: [echo, {id: "bedrock:nova-lite", label: far, config: {region: us-east-1, unheard_of: 1}}]
tests:
  - vars: {word: [a, b]}
    assert: [{type: contains, value: "{{word}}", metric: Says}]
"""


def test_prompts_times_providers_are_runs_of_one_leaderboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.yaml").write_text(CONFIG)
    assert main(["run", "words.yaml", "--quiet"]) == 2
    assert "words.yaml:3:19: providers[1]: provider `bedrock:nova-lite`: its config has `unheard_of`" in (
        capsys.readouterr().err
    )
    assert main(["run", "words.yaml", "--model-for", "far=stub:a", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "| echo, loud" in out
    assert "| stub:a, loud" in out
    assert "Says" in out


GRADED = """
prompts: ["Say {{word}}"]
providers: [{id: "bedrock:nova-lite", label: far}]
tests: [{vars: {word: a}, assert: [{type: llm-rubric, value: says a}]}]
"""


def test_keys_of_model_files_stand_for_providers_and_graders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.yaml").write_text(GRADED)
    write_model_file("near", "stub:a")
    write_model_file("strict", 'stub:{"pass": true, "score": 1, "reason": "so"}')
    typed = ["run", "words.yaml", "--model-for", "far=near", "--model-for", "grader=strict", "--run-dir", "run"]
    assert main([*typed, "--quiet"]) == 0, capsys.readouterr().err
    board = json.loads(Path("run/leaderboard.json").read_text())
    assert board["label"] == "The near"
    assert board["overall_score"] == 1.0
    assert "The strict" in json.dumps(board["tasks"])


def test_a_grader_that_the_configuration_does_not_name_is_said_and_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Path("words.yaml").write_text(GRADED)
    assert main(["run", "words.yaml", "--model", "stub:a", "--dry-run"]) == 0
    assert (
        "the grader is `openai:gpt-4.1`, as the configuration names none; --model-for grader=MODEL names another"
        in (capsys.readouterr().err)
    )
    judge = 'stub:{"pass": true, "score": 1, "reason": "so"}'
    assert main(["run", "words.yaml", "--model", "stub:a", "--judge", judge, "--run-dir", "run"]) == 0
    assert "the grader is" not in capsys.readouterr().err
    assert json.loads(Path("run/leaderboard.json").read_text())["overall_score"] == 1.0


def test_a_chosen_model_stands_for_every_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.yaml").write_text(CONFIG)
    assert main(["run", "words.yaml", "--model", "stub:b", "--quiet"]) == 0
    assert len(list(Path("runs").iterdir())) == 2


def test_a_configuration_without_assertions_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("promptfooconfig.yaml").write_text("prompts: ['Say {{w}}']\nproviders: [echo]\ntests: [{vars: {w: x}}]\n")
    assert main(["run", "promptfooconfig.yaml", "--run-dir", "run", "--quiet"]) == 3, "there is no score"
    assert '"prediction":"Say x"' in (tmp_path / "run" / "journal.jsonl").read_text()
    assert main(["check", "promptfooconfig.yaml"]) == 0
    assert main(["show", "promptfooconfig.yaml", "--sample", "1"]) == 0
    assert "Say x" in capsys.readouterr().out
    assert main(["validate", "promptfooconfig.yaml"]) == 0
    assert main(["run", "promptfooconfig.yaml", "--dry-run"]) == 0


UNKNOWN = """
prompts: [hello]
providers: [echo]
nunjucksFilters: {f: file://f.js}
redteam: {purpose: x}
tests:
  - assert:
      - {type: contains-al, value: x}
      - {type: trace-span-count, value: x}
      - {type: contains}
      - {type: contains, value: x, wieght: 2}
      - {type: not-factuality, value: x}
      - {type: regex, value: "("}
      - {type: bleu, value: x, threshold: .nan}
    options: {storeOutputAs: y}
"""


def test_what_is_not_known_is_refused_by_name_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(UNKNOWN)
    with pytest.raises(UsageError) as refused:
        read_promptfoo(path)
    said = str(refused.value)
    assert f"{path}:4:18: nunjucksFilters:" in said
    assert f"{path}:15:15: tests[0].options.storeOutputAs: `storeOutputAs`" in said
    path.write_text(UNKNOWN.replace("nunjucksFilters", "x-filters").replace("storeOutputAs", "prefix"))
    with pytest.raises(UsageError) as refused:
        read_promptfoo(path)
    said = str(refused.value)
    assert f"{path}:8:9: tests[0].assert[0]: unknown assertion `contains-al`. Did you mean `contains-all`?" in said
    assert main(["check", str(path)]) == 2
    for what in (
        "trace-span-count",
        "`contains` needs a `value`",
        "`wieght`",
        "ignores the negation",
        "`regex`:",
        "got nan",
    ):
        assert what in said


def test_programs_of_a_stranger_need_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger, own = tmp_path / "stranger", tmp_path / "own"
    stranger.mkdir()
    own.mkdir()
    monkeypatch.chdir(own)
    config = stranger / "promptfooconfig.yaml"
    config.write_text("prompts: [x]\nproviders: [echo]\ntests: file://make.py:make\n")
    (stranger / "make.py").write_text(
        f"def make():\n    open({str(own / 'ran')!r}, 'w')\n    return [{{'vars': {{}}}}]\n"
    )
    with pytest.raises(UsageError, match=r"would run the Python `.*make.py`"):
        load_tasks([str(config)])
    assert not (own / "ran").exists()
    (task,) = load_tasks([str(config)], trust=True)
    assert (own / "ran").exists()
    assert task.dataset.size == 1


@pytest.mark.parametrize("named", ["../private/notes.md", ".hidden/notes.md"])
def test_no_file_outside_its_project_becomes_a_prompt(
    tmp_path: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads, project = tmp_path / "downloads", tmp_path / "project"
    for folder in (downloads / ".hidden", project, tmp_path / "private"):
        folder.mkdir(parents=True)
    (downloads / named).write_text("a secret of mine")
    config = downloads / "promptfooconfig.yaml"
    config.write_text(f"prompts: ['file://{named}']\nproviders: [echo]\n")
    monkeypatch.chdir(project)
    with pytest.raises(UsageError, match=r"leads outside the project|is a hidden file"):
        read_promptfoo(config)


def test_perplexity_asks_for_log_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text("prompts: [x]\nproviders: [echo]\ntests: [{assert: [{type: perplexity, threshold: 3}]}]\n")
    (definition,) = read_promptfoo(path)
    (sample,) = build_dataset(definition)
    request = prompt_template(**definition.solver.options).request(sample)  # type: ignore[union-attr]
    assert request.logprobs == 0
