"""`assay show RUN`: how a run stands, in a terminal that hostile text cannot steer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.board.scripted_boards import write_run
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.cli.main import main
from assay.core.types import Score
from assay.storage.checksum import record_of, with_checksums


def test_what_failed_comes_first_then_what_scored_lowest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = write_sums(tmp_path, "sums", 6)
    run = run_into(tmp_path / "run", sums, Broken(broken=[4], wrong=[2]))
    assert main(["show", str(run), "--samples", "2"]) == 0
    shown = capsys.readouterr().out
    assert "not complete: 1 attempt failed, 0 not yet run" in shown
    assert "| **overall**" in shown
    assert shown.index("sums / s4   attempt 1   failed") < shown.index("sums / s2   attempt 1   score 0.000")
    assert "sums / s0" not in shown


def test_the_request_of_an_attempt_that_got_no_answer_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_into(tmp_path / "run", write_sums(tmp_path, "sums", 3), Broken(broken=[2]))
    main(["show", str(run), "--sample", "s2"])
    shown = capsys.readouterr().out
    assert "failed" in shown
    assert "user:      compute: 2 + 1" in shown


def test_a_failure_that_was_made_up_for_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = write_sums(tmp_path, "sums", 3)
    run = run_into(tmp_path / "run", sums, Adder())
    journal = run / "journal.jsonl"
    first = json.loads(journal.read_text().splitlines()[0])
    failed = {**first, "scores": [], "failures": [{"stage": "model", "kind": "timeout", "message": "too slow"}]}
    lines = [json.dumps(failed).encode(), *map(record_of, journal.read_bytes().splitlines(keepends=True))]
    journal.write_bytes(with_checksums(lines, 1))
    main(["show", str(run), "--samples", "9"])
    shown = capsys.readouterr().out
    assert "too slow" not in shown
    assert shown.count("attempt 1   score 1.000") == 3


def test_one_sample_is_shown_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_into(tmp_path / "run", write_sums(tmp_path, "sums", 3), Adder([1], says="one\ntwo " + "x" * 500))
    main(["show", str(run), "--sample", "s1"])
    shown = capsys.readouterr().out
    assert "x" * 500 in shown
    assert "sums / s0" not in shown
    assert main(["show", str(run), "--sample", "s7"]) == 2
    assert "no attempt at a sample `s7`" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [("--where", "id:s1"), ("--samples", "1")])
def test_few_shot_examples_are_left_out_however_few_attempts_are_shown(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = "One plus one is two.\n\n" * 8
    sums = write_sums(tmp_path, "sums", 3, prompt=examples + "compute: {n} + 1")
    run = run_into(tmp_path / "run", sums, Adder([1]))
    main(["show", str(run), *flags])
    shown = capsys.readouterr().out
    assert "input:     compute: 1 + 1" in shown
    assert "One plus one" not in shown


@pytest.mark.parametrize("flags", [(), ("--sample", "s1")])
def test_an_answer_cannot_steer_the_terminal(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = Adder([1], says="\x1b[2J\x1b]0;owned\x07\r score 1.000")
    run = run_into(tmp_path / "run", write_sums(tmp_path, "sums", 3), hostile)
    main(["show", str(run), *flags])
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert not set(shown) & {"\x1b", "\x07", "\r"}


def test_the_run_file_is_there_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_into(tmp_path / "run", write_sums(tmp_path, "sums", 1), Adder())
    main(["show", str(run), "--json"])
    assert json.loads(capsys.readouterr().out)["model"]["name"] == "adder"


def test_a_part_of_your_own_is_shown_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loudness.py").write_text('def shouts(p, t, e):\n    """1.0 when the answer is all capitals."""\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["show", "loudness:shouts"]) == 0
    assert "1.0 when the answer is all capitals." in capsys.readouterr().out
    assert main(["show", "loudness:whispers"]) == 2


TASK = """\
key: t
display_name: T
description: d
config_spec: [{type: string, key: word, display_name: W}]
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "say << config.word >>"}]}
  scorers: [{type: string_equals, ground_truth: "{{ sample.a }}"}]
"""


@pytest.mark.parametrize("word", ["1.50", "010", "null", "true", "[1]"])
def test_a_text_of_the_command_line_stays_as_it_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "data.jsonl").write_text('{"a": "b"}\n')
    assert main(["show", str(tmp_path / "t.yaml"), "--config", f"word={word}"]) == 0
    assert f'"content": "say {word}"' in capsys.readouterr().out


def test_a_weak_pass_is_shown_next_to_the_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weak = Score(name="code", values={"score": 1.0, "outcome": "pass"}, metadata={"grade": "weak"})
    run = write_run(tmp_path / "run", {"code": [[weak]]})
    main(["show", str(run), "--sample", "s0"])
    assert "score 1.000, a weak pass" in capsys.readouterr().out
    main(["show", str(run)])
    assert "code: 1 pass is weak, of 1 scored" in capsys.readouterr().out
