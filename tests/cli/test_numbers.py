"""The commands around numbers, as a user types them: exit codes, one sentence per broken gate, written files."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture
def runs(somewhere: Path) -> Path:
    tasks = write_sums(somewhere / "tasks", "sums", 200, metadata=lambda n: {"half": n // 100})
    run_into(somewhere / "a", tasks, Adder(name="a"))
    run_into(somewhere / "b", tasks, Adder(range(10), name="b"))
    return somewhere


def test_a_broken_gate_is_one_sentence_and_exit_code_1(
    somewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sums(somewhere / "tasks", "sums", 4)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(somewhere / "summary.md"))
    flags = [
        "--gate",
        "sums > 1",
        "--gate",
        "overall >= 1",
        "--gate",
        "failed > 0",
        "--junit",
        "out/gates.xml",
        "--quiet",
    ]
    assert main(["run", "tasks", *flags]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("gate")]
    assert said == ["gate not met: sums > 1: 1 is not > 1", "gate not met: failed > 0: 0 is not > 0"]
    suite = ET.parse(somewhere / "out" / "gates.xml").getroot().find("testsuite[@name='gates']")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert "❌ not met: sums > 1: 1 is not > 1" in (somewhere / "summary.md").read_text()


def test_gates_that_hold_leave_exit_code_0_and_a_bad_one_runs_nothing(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sums(somewhere / "tasks", "sums", 4)
    assert main(["run", "tasks", "--gate", "summs >= 1", "--quiet"]) == 2
    assert "Did you mean `sums`?" in capsys.readouterr().err
    assert not (somewhere / "runs").exists()
    assert main(["run", "tasks", "--gate", "sums >= 1", "--quiet"]) == 0


def test_a_run_is_compared_with_its_baseline(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = ["--gate", "sums >= baseline - 0.1", "--gate", "no-significant-drop", "--baseline", "a"]
    assert main(["run", "tasks", "--quiet", *gates]) == 0
    capsys.readouterr()
    assert main(["run", "tasks", "--model", "stub:1", "--quiet", *gates]) == 1
    said = capsys.readouterr().err
    assert "sums >= baseline - 0.1: 0.005 is not >= 0.9" in said
    assert "sums dropped significantly: -0.995" in said


def test_leaderboard_and_report_write_what_they_say(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "a", "b", "--by", "metadata.half", "--html", "models.html"]) == 0
    assert "half = 1" in capsys.readouterr().out
    assert main(["leaderboard", "a", "b", "--csv"]) == 0
    assert capsys.readouterr().out.startswith("rank_low,rank_high,model")
    assert main(["leaderboard", "a", "b", "--json", "--level", "0.9"]) == 0
    assert json.loads(capsys.readouterr().out)["level"] == 0.9
    assert main(["report", "a"]) == 0
    assert main(["report", "a", "b", "--output", "both.html"]) == 0
    for name in ("models.html", "a/report.html", "a/report.md", "both.html"):
        assert (runs / name).stat().st_size > 1000


def test_a_dry_run_and_a_budget(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(somewhere / "tasks", "sums", 50)
    assert main(["run", "tasks", "--dry-run"]) == 0
    assert "| **run** |       50 |" in capsys.readouterr().out
    assert not (somewhere / "runs").exists()
    assert main(["run", "tasks", "--quiet", "--budget-tokens", "60", "--concurrency", "1"]) == 3
    assert "stopped: the budget of 60 tokens (--budget-tokens) is used up" in capsys.readouterr().err
    assert main(["run", "tasks", "--quiet", "--budget-tokens", "60000"]) == 0


def test_comparisons_say_which_definition_a_word_has(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task folder's `exact_match` is the lenient one."""
    assert main(["leaderboard", "a", "b"]) == 0
    assert "Scores: exact_match (normalized), of the answers to" in capsys.readouterr().out
    assert main(["leaderboard", "a", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"sums": "exact_match (normalized)"}
    assert main(["diff", "a", "b"]) == 0
    assert "- sums, exact_match (normalized): " in capsys.readouterr().out
    assert main(["diff", "a", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["metric"] == "exact_match (normalized)"


def test_a_dry_run_calls_each_model_what_tables_call_it(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(somewhere / "tasks", "sums", 2)
    several = ["run", "tasks", "--dry-run", "--model", "old=stub:1", "--model", "new=stub:2", "--model", "stub:3"]
    assert main(several) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.endswith(":")] == ["old:", "new:", "stub:3:"]
    assert main([*several, "--json"]) == 0
    decoder, text, labels = json.JSONDecoder(), capsys.readouterr().out, []
    while text.strip():
        found, end = decoder.raw_decode(text.lstrip())
        labels.append(found["label"])
        text = text.lstrip()[end:]
    assert labels == ["old", "new", "stub:3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "tasks", "--level", "95"], "--level must be between 0 and 1"),
        (["run", "tasks", "--budget-cost", "-1"], "--budget-cost must be above 0"),
        (["run", "tasks", "--budget-cost", "1", "--model", "stub:1", "--prices", "none.yaml"], "none.yaml"),
        (["run", "tasks", "--by", "metadata."], "expected metadata.KEY"),
        (["run", "tasks", "--shard", "1/2", "--gate", "sums > 0"], "a shard has no leaderboard"),
        (["diff", "tasks", "nowhere"], "not a run folder"),
        (["diff", "nowhere.json", "a"], "no such leaderboard file or run folder"),
        (["leaderboard", "tasks"], "not a run folder"),
        (["report", "a", "b", "--json"], "--json is for one run"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    arguments: list[str], said: str, somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sums(somewhere / "tasks", "sums", 4)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
