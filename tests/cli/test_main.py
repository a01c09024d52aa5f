"""The command as a whole: a bug of ours and what the machine refuses each have an exit code and a sentence."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import environment, fake_server, write_task

from assay.cli import main as command_line
from assay.cli.main import INTERNAL_ERROR, SUBCOMMANDS, main
from assay.runs.exit_status import BAD_INPUT, DONE, WITH_FAILURES


def test_a_bug_of_ours_has_its_own_exit_code_and_can_be_looked_into(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        @staticmethod
        def run(options: object) -> int:
            raise ZeroDivisionError("division by \x1b[31mzero")

        add_arguments = staticmethod(lambda parser: None)

    monkeypatch.setattr(command_line.importlib, "import_module", lambda name: Broken)
    assert main(["doctor"]) == INTERNAL_ERROR
    said = capsys.readouterr().err
    assert said.startswith(r"assay doctor: internal error: ZeroDivisionError: division by \u001b[31mzero.")
    assert "Traceback" not in said
    monkeypatch.setenv("ASSAY_DEBUG", "1")
    assert main(["doctor"]) == INTERNAL_ERROR
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), PermissionError(13, "Not permitted", "f")])
def test_what_the_machine_refuses_is_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        @staticmethod
        def run(options: object) -> int:
            raise error

        add_arguments = staticmethod(lambda parser: None)

    monkeypatch.setattr(command_line.importlib, "import_module", lambda name: Broken)
    assert main(["doctor"]) == BAD_INPUT
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("descriptors", [9, 11, 13, 40])
def test_too_few_descriptors_are_called_by_their_name(tmp_path: Path, descriptors: int) -> None:
    write_task(tmp_path / "t.jsonl", {f"compute: {n} + 1": str(n + 1) for n in range(200)})
    words = ["run", "t.jsonl", "--run-dir", "run", "--model", "openai:x", "--concurrency", "100"]
    with fake_server() as server:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words, "--model-arg", f"base_url={server.base_url}", "--patience", "0"],
            cwd=tmp_path,
            env=environment(OPENAI_API_KEY=""),
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
        )
    assert done.returncode in (DONE, BAD_INPUT, WITH_FAILURES), done.stderr
    assert "Traceback" not in done.stderr
    assert "could not be saved to the disk" not in done.stderr
    if done.returncode == BAD_INPUT:
        assert "Too many open files; raise the limit (`ulimit -n 4096`)" in done.stderr


def test_every_command_stands_on_one_line_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for verb, summary in SUBCOMMANDS.items():
        assert any(line.split() and line.split()[:2] == [verb, summary.split()[0]] for line in lines), verb
