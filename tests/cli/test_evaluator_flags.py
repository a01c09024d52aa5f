"""Who scores an artifact: exactly one source, and every flag that cannot be used is named."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from assay.cli.evaluator_flags import (
    add_evaluator_arguments,
    evaluations_in_flight,
    evaluators_of,
    read_artifact,
    read_set,
)
from assay.cli.flags import refuse_unmet_needs
from assay.cli.parser import Parser
from assay.core.errors import UsageError


def options(*words: str) -> argparse.Namespace:
    parser = Parser()
    add_evaluator_arguments(parser)
    return parser.parse_args(words)


COMMAND = ["--evaluator-command", "true"]
SERVICE = ["--evaluator-url", "http://127.0.0.1:1"]
JUDGE = ["--judge-model", "toy", "--objective", "short"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no evaluator given: use one of --evaluator-command, --evaluator-url, --judge-model$"),
        (
            ["--evaluator-command", "x", "--evaluator-url", "http://h"],
            "got --evaluator-command and --evaluator-url",
        ),
        (["--evaluator-command", "'unclosed"], "--evaluator-command .*No closing quotation"),
        (["--evaluator-url", "http://127.0.0.1:1", "--evaluator-header", "oops"], "expected NAME:VALUE"),
        (["--evaluator-url", "http://127.0.0.1:1", "--evaluator-header", ":v"], "expected NAME:VALUE"),
        (["--judge-model", "toy"], "a judge needs --objective"),
        ([*JUDGE, "--dimension", "tone=loud"], "--dimension tone=loud: the weight must be a number"),
        ([*JUDGE, "--dimension", "tone", "--dimension", "tone=2"], "--dimension tone is given twice"),
        ([*JUDGE, "--concurrency", "0"], "--concurrency must be at least 1"),
        ([*JUDGE, "--judge-arg", "oops"], "--judge-arg"),
        (
            [*COMMAND, "--evaluator-env", "NO_SUCH_VARIABLE"],
            "--evaluator-env names .*NO_SUCH_VARIABLE, which is not set",
        ),
        ([*COMMAND, "--evaluator-env", "A=b"], "--evaluator-env must be the name"),
        ([*COMMAND, "--evaluator-batch", "0"], "at least 1 evaluation"),
        ([*SERVICE, "--evaluator-header", "a: b\nc: d"], "`a`: a header is one line"),
    ],
)
def test_what_cannot_score_is_a_sentence(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        evaluators_of(options(*words))


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ([*COMMAND, "--constraint", "names nobody"], "--judge-model"),
        ([*COMMAND, "--dimension", "tone"], "--judge-model"),
        ([*COMMAND, "--judge-arg", "a=b"], "--judge-model"),
        ([*COMMAND, "--judge-retries", "3"], "--judge-model"),
        ([*COMMAND, "--evaluator-header", "a:b"], "--evaluator-url"),
        ([*COMMAND, "--patience", "3"], "--evaluator-url or --judge-model"),
        ([*SERVICE, "--evaluator-cwd", "."], "--evaluator-command"),
        ([*SERVICE, "--evaluator-persistent"], "--evaluator-command"),
        ([*JUDGE, "--evaluator-env", "HOME"], "--evaluator-command"),
        ([*JUDGE, "--evaluator-batch", "4"], "--evaluator-command or --evaluator-url"),
    ],
)
def test_a_flag_that_the_evaluator_cannot_use_is_refused(words: list[str], needed: str) -> None:
    with pytest.raises(UsageError, match=f"has no effect without {needed}; add that, or leave it out"):
        refuse_unmet_needs(options(*words))
    refuse_unmet_needs(options(*COMMAND, "--evaluator-timeout", "1"))


def test_a_command_of_several_words_is_to_be_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        options("--evaluator-command", "bash", "eval.sh")
    said = capsys.readouterr().err
    assert "unexpected argument `eval.sh`; a command of several words is one quoted text" in said


def test_a_batch_counts_as_one_call() -> None:
    assert evaluations_in_flight(options(*COMMAND, "--concurrency", "3", "--evaluator-batch", "5")) == 15
    assert evaluations_in_flight(options(*COMMAND, "--concurrency", "3")) == 3


def test_each_judge_is_an_evaluator_of_its_own() -> None:
    assert len(evaluators_of(options(*JUDGE, "--judge-model", "toy", "--dimension", "tone=2"))) == 2


def test_an_artifact_is_read_exactly_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_artifact(str(path)) == "\ufeffa\r\nb"
    path.write_bytes(b"ab\xff")
    with pytest.raises(UsageError, match=r"prompt\.txt: byte 3 is not UTF-8"):
        read_artifact(str(path))
    with pytest.raises(UsageError, match="cannot be read: "):
        read_artifact(str(tmp_path))


def test_an_empty_set_has_nothing_to_score_on(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text("\n")
    with pytest.raises(UsageError, match="has no records"):
        read_set(str(path))
    path.write_text('{"a": 1}\n')
    assert read_set(str(path)) == [{"a": 1}]
