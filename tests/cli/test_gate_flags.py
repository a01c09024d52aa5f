"""Gates as CI types them: three outcomes, nothing that hides one, and mistakes found before anything is paid for."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from tests.results.board.scripted_boards import BROKEN, write_run
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.cli.main import main

TORN = "def model(prompt):\n    n = int(prompt.split()[1])\n    return str(1 // (n - 3) * 0 + n + 1)\n"
"""Adds right, and breaks on one sample of any number of them."""


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    return tmp_path


def gate_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if "gate" in line]


def gate_cases(path: Path) -> dict[str, list[str]]:
    suite = ET.parse(path).getroot().find("testsuite[@name='gates']")
    assert suite is not None
    return {str(case.get("name")): [each.tag for each in case] for case in suite}


def test_one_failed_attempt_hides_no_gate_no_junit_file_and_no_summary(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sums(somewhere / "tasks", "sums", 40)
    (somewhere / "torn_adder.py").write_text(TORN)
    run_into(somewhere / "main", somewhere / "tasks", Adder(name="torn_adder:model"))
    gates = ["no-significant-drop", "overall >= 0.99", "sums >= baseline - 0.02", "failed == 0", "overall >= 0.9"]
    flags = [word for gate in gates for word in ("--gate", gate)]
    command = ["run", "tasks", "--model", "torn_adder:model", "--quiet", "--baseline", "main", "--junit", "j.xml"]
    assert main([*command, *flags]) == 1
    said = gate_lines(capsys)
    assert [line.split(": ")[:2] for line in said] == [
        ["gate cannot tell", "overall >= 0.99"],
        ["gate cannot tell", "sums >= baseline - 0.02"],
        ["gate not met", "failed == 0"],
    ]
    cases = gate_cases(somewhere / "j.xml")
    assert [cases[gate] for gate in gates] == [["system-out"], ["error"], ["error"], ["failure"], ["system-out"]]
    summary = (somewhere / "summary.md").read_text()
    assert "- ✅ met: no-significant-drop" in summary
    assert "- ❔ cannot tell: overall >= 0.99: " in summary
    assert "- ❌ not met: failed == 0: " in summary


def test_what_a_gate_that_cannot_tell_does_to_the_exit_code_is_the_users_choice(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(somewhere / "then", {"sums": [[1.0]] * 3})
    write_run(somewhere / "now", {"sums": [[1.0], [1.0], [BROKEN]]})
    command = ["diff", "then", "now", "--allow-unequal", "--json", "--gate", "sums >= 0.9", "--junit", "j.xml"]
    assert main(command) == 1
    [gate] = json.loads(capsys.readouterr().out)["gates"]
    assert (gate["gate"], gate["outcome"]) == ("sums >= 0.9", "cannot tell")
    assert main([*command, "--gate-cannot-tell", "pass", "--gate", "failed == 1"]) == 0
    assert "1 of 2 gates met, 1 cannot tell" in capsys.readouterr().err
    assert gate_cases(somewhere / "j.xml")["sums >= 0.9"] == ["skipped"]
    assert main([*command, "--gate-cannot-tell", "pass", "--gate", "failed == 0"]) == 1


def test_the_json_of_a_run_holds_its_gates(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(somewhere / "tasks", "sums", 4)
    assert main(["run", "tasks", "--quiet", "--json", "--gate", "sums >= 1", "--gate", "sums > 1"]) == 1
    gates = json.loads(capsys.readouterr().out)["gates"]
    assert [each["outcome"] for each in gates] == ["met", "not met"]
    assert main(["run", "tasks", "--quiet", "--json"]) == 0
    assert "gates" not in json.loads(capsys.readouterr().out)


def test_diff_writes_what_ci_reads_also_when_the_comparison_is_refused(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 40)
    run_into(somewhere / "a", tasks, Adder())
    run_into(somewhere / "b", tasks, Adder(range(10)))
    run_into(somewhere / "c", tasks, Broken([5]))
    command = ["--gate", "no-significant-drop", "--gate", "overall >= 0.5", "--junit", "j.xml"]
    assert main(["diff", "a", "b", *command]) == 1
    assert gate_cases(somewhere / "j.xml") == {"no-significant-drop": ["failure"], "overall >= 0.5": ["system-out"]}
    summary = (somewhere / "summary.md").read_text()
    assert "| sums" in summary
    assert "- ❌ not met: no-significant-drop: sums dropped significantly" in summary
    capsys.readouterr()
    (somewhere / "j.xml").unlink()
    assert main(["diff", "a", "c", *command]) == 2
    assert "2 of 2 gates met" in capsys.readouterr().err
    assert gate_cases(somewhere / "j.xml") == {"no-significant-drop": ["system-out"], "overall >= 0.5": ["system-out"]}


def test_gates_see_through_a_changed_answer_key(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten targets are edited and eight other answers are lost: the mean rises, and the pairs say what happened."""
    tasks = write_sums(somewhere / "tasks", "sums", 40)
    run_into(somewhere / "then", tasks, Adder(range(10)))
    lines = [msgspec.json.decode(line) for line in tasks.read_bytes().splitlines()]
    for line in lines[:10]:
        line["targets"] = ["wrong"]
    tasks.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    run_into(somewhere / "lost", tasks, Adder(range(18)))
    run_into(somewhere / "kept", tasks, Adder(range(10)))
    command = ["--gate", "sums >= baseline - 0.02", "--gate", "no-significant-drop"]
    main(["diff", "then", "lost", *command])
    said = gate_lines(capsys)
    assert said[0].startswith("gate cannot tell: sums >= baseline - 0.02: of the samples of sums 10 have other targets")
    assert said[1].startswith("gate not met: no-significant-drop: sums dropped significantly: -0.267")
    main(["diff", "then", "kept", *command])
    said = gate_lines(capsys)
    assert [line.split(":")[0] for line in said[:2]] == ["gate cannot tell", "gate cannot tell"]
    assert main(["diff", "then", "kept", *command, "--allow-unequal"]) == 0
    assert main(["diff", "then", "lost", "--gate", "sums >= baseline - 0.02", "--allow-unequal"]) == 1
    assert "0.7333 is not >= 0.98" in capsys.readouterr().err


def test_no_significant_drop_says_cannot_tell_where_its_test_could_not_find_a_collapse(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {f"t{n}": [[1.0]] * 5 for n in range(6)}
    write_run(somewhere / "then", few)
    write_run(somewhere / "same", few)
    write_run(somewhere / "lost", {**few, "t0": [[0.0]] * 5})
    for now in ("same", "lost"):
        assert main(["diff", "then", now, "--gate", "no-significant-drop"]) == 1
        said = [line for line in gate_lines(capsys) if "t0: " in line]
        assert said[0].startswith("gate cannot tell: no-significant-drop: t0: not even the loss of every answer")
        assert "after Holm over 7" in said[0]
    write_run(somewhere / "four", {"t": [[1.0]] * 4})
    assert main(["diff", "four", "four", "--gate", "no-significant-drop"]) == 1
    assert "(p = 0.062 at best), so a drop cannot be ruled out" in capsys.readouterr().err
    write_run(somewhere / "none", {"t": [[0.0]] * 4})
    assert main(["diff", "none", "none", "--gate", "no-significant-drop"]) == 0, "there was nothing to lose"


@pytest.mark.parametrize(("groups", "outcome"), [(4, "cannot tell"), (10, "not met")])
def test_a_collapse_is_found_in_enough_groups_and_in_fewer_the_gate_says_so(
    groups: int, outcome: str, somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 100, metadata=lambda n: {"group": n % groups})
    run_into(somewhere / "then", tasks, Adder())
    run_into(somewhere / "now", tasks, Adder(range(96)))
    assert main(["diff", "then", "now", "--gate", "no-significant-drop"]) == 1
    assert gate_lines(capsys)[0].startswith(f"gate {outcome}: no-significant-drop: sums")


def test_no_drop_beyond_a_margin_is_met_only_by_evidence(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(somewhere / "then", {"sums": [[1.0]] * 400, "more": [[1.0]] * 40})
    write_run(somewhere / "same", {"sums": [[1.0]] * 400, "more": [[1.0]] * 40})
    write_run(somewhere / "lost", {"sums": [[0.0]] * 40 + [[1.0]] * 360, "more": [[1.0]] * 40})
    write_run(somewhere / "torn", {"sums": [[1.0]] * 390 + [[BROKEN]] * 10, "more": [[1.0]] * 40})

    def outcome(now: str, gate: str) -> str:
        code = main(["diff", "then", now, "--gate", gate, "--json", "--allow-unequal"])
        [result] = json.loads(capsys.readouterr().out)["gates"]
        assert (code == 0) is (result["outcome"] == "met")
        return str(result["outcome"])

    assert outcome("same", "no-drop-beyond 0.02 sums") == "met"
    assert outcome("same", "no-drop-beyond 2%") == "cannot tell", "forty pairs show nothing of the kind"
    assert outcome("same", "no-drop-beyond 0.2") == "met"
    assert outcome("same", "no-drop-beyond 0.05 overall") == "met"
    assert outcome("lost", "no-drop-beyond 0.02") == "not met"
    assert outcome("lost", "no-drop-beyond 0.1 sums") == "cannot tell"
    assert outcome("lost", "no-drop-beyond 0.2 sums") == "met"
    assert outcome("torn", "no-drop-beyond 0.02 sums") == "cannot tell", "ten failed attempts may all be losses"
    assert outcome("torn", "no-drop-beyond 0.06 sums") == "met"


def test_a_task_of_a_few_grades_that_did_not_move_proves_nothing_about_the_whole(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("then", "now"):
        write_run(somewhere / name, {"sums": [[1.0]] * 400, "grades": [[0.7]] * 3})
    assert main(["diff", "then", "now", "--gate", "no-drop-beyond 0.02 overall"]) == 1
    assert "gate cannot tell: no-drop-beyond 0.02 overall: overall: +0.000 (at worst -0." in capsys.readouterr().err


def test_other_samples_than_the_baseline_has_are_no_evidence(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Part of what the baseline has is missing; what only the result has hides nothing."""
    tasks = write_sums(somewhere / "tasks", "sums", 40)
    run_into(somewhere / "all", tasks, Adder(range(30, 40)))
    run_into(somewhere / "part", tasks, Adder(), limit=30)
    command = ["--gate", "sums >= baseline", "--gate", "no-significant-drop"]
    main(["diff", "all", "part", *command])
    said = gate_lines(capsys)
    assert said[0].startswith("gate cannot tell: sums >= baseline: of the samples of sums 10 are only in the baseline")
    assert said[1].startswith("gate cannot tell: no-significant-drop: of the samples of sums 10 that the baseline has")
    main(["diff", "part", "all", *command])
    assert gate_lines(capsys)[0].startswith("gate cannot tell: sums >= baseline: of the samples of sums 10 are only in")
    main(["diff", "part", "all", "--gate", "no-significant-drop"])
    assert "1 of 1 gates met" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        ("sums.typo >= 1", "task `sums` has no number called `typo`"),
        ("sums.score_meen >= 1", "Did you mean `sums.score_mean`?"),
        ("sums.pass@2 >= 1", "task `sums` has no number called `pass@2`"),
        ("--sums >= 0", "position 2: `-` follows another sign"),
        ("overall >= 0.9", "`overall` is both a task's and a number of the whole run"),
        ("overall.low >= 0.9", "or write run.overall.low for the run"),
        ("no-drop-beyond 0.02 summs", "Did you mean `sums`?"),
        ("no-drop-beyond sums", "expected the largest drop allowed"),
        ("no-drop-beyond -0.1", "expected the largest drop allowed"),
        ("no-drop-beyond 0.02 sums.low", "is neither a task nor `overall`"),
        ("no-significant-drop sums", "takes no argument"),
        ("sums >= baseline.sums.typo", "task `sums` has no number called `typo` in the baseline"),
    ],
)
def test_everything_a_gate_names_is_checked_before_the_first_request(
    gate: str, sentence: str, somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sums(somewhere / "tasks", "sums", 2)
    write_sums(somewhere / "tasks", "overall", 2)
    write_run(somewhere / "then", {"sums": [[1.0], [1.0]]})
    assert main(["run", "tasks", "--run-dir", "run", "--quiet", "--baseline", "then", f"--gate={gate}"]) == 2
    assert sentence in capsys.readouterr().err
    assert not (somewhere / "run").exists()


def test_backticks_name_a_task_and_run_names_the_whole(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(somewhere / "a", {"overall": [[1.0], [0.0]], "sums": [[1.0], [1.0]]})
    gates = ["`overall` == 0.5", "run.overall == 0.75", "run.overall == baseline", "`overall` == baseline"]
    flags = [word for gate in gates for word in ("--gate", gate)]
    assert main(["diff", "a", "a", *flags]) == 0
    assert "4 of 4 gates met" in capsys.readouterr().err


def test_numbers_of_repetitions_are_known_before_the_run(somewhere: Path) -> None:
    write_sums(somewhere / "tasks", "sums", 2)
    assert main(["run", "tasks", "--quiet", "--repeat", "2", "--gate", "sums.pass^2 >= 1"]) == 0


def test_a_drop_that_one_side_shows_has_no_interval_that_denies_it(
    somewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of five lost: one-sided p = 0.031, while the interval has two sides and reaches 0."""
    tasks = write_sums(somewhere / "tasks", "sums", 5)
    run_into(somewhere / "then", tasks, Adder(range(0)))
    run_into(somewhere / "lost", tasks, Adder(range(5)))
    assert main(["diff", "then", "lost", "--gate", "no-significant-drop"]) == 1
    [line, *_] = gate_lines(capsys)
    assert "sums dropped significantly: -1.000 over 5 pairs, one-sided p = 0.031" in line


def test_an_estimate_refuses_what_is_only_for_gates(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(somewhere / "tasks", "sums", 2)
    assert main(["run", "tasks", "--dry-run", "--gate-cannot-tell", "pass"]) == 2
    assert "--gate-cannot-tell is for gates, and there is none" in capsys.readouterr().err
