"""Completion, asked of real shells: commands, flags, their choices and names; files where nothing else is known."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assay.cli.completion import SHELLS, all_words, bash_script, fish_script
from assay.cli.main import SUBCOMMANDS, main


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script = tmp_path_factory.mktemp("completion") / "assay.bash"
    script.write_text(bash_script(all_words()))
    return script


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    ask = f'source "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _assay; printf "%s\\n" "${{COMPREPLY[@]}}"'
    said = subprocess.run(["bash", "-c", ask, "bash", "assay", *words], capture_output=True, text=True, check=True)
    assert said.stderr == ""
    return set(said.stdout.split())


def test_bash_completes_commands_flags_choices_and_names(bash: Path) -> None:
    assert completed(bash, "") == {*SUBCOMMANDS, "--help", "--version"}
    assert completed(bash, "lead") == {"leaderboard"}
    assert completed(bash, "run", "--max-") == {"--max-tokens"}
    assert completed(bash, "run", "tasks", "--executor", "") == {"local", "ray"}
    assert "toy" in completed(bash, "run", "--model", "t")
    assert completed(bash, "show", "rouge_") >= {"rouge_l"}
    assert completed(bash, "completion", "") == set(SHELLS)


def test_where_nothing_is_known_the_shell_completes_files(bash: Path) -> None:
    (bash.parent / "runs of mine").mkdir()
    assert completed(bash, "diff", f"{bash.parent}/ru") == {
        f"{bash.parent}/runs",
        "of",
        "mine",
    }  # one word, with spaces
    assert completed(bash, "list", f"{bash.parent}/ru") == set()


@pytest.mark.parametrize(("shell", "start"), [("bash", ["--norc", "--noprofile", "-i"]), ("zsh", ["-f", "-i"])])
def test_the_tab_key_completes(
    shell: str, start: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Typed into a real shell on a terminal: a command, a flag, what follows a flag, a name, a file."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    assert main(["completion", shell]) == 0
    (tmp_path / f"script.{shell}").write_text(capsys.readouterr().out)
    (tmp_path / "zebra-tasks.jsonl").touch()
    typed = ["lead", "run --exec", "run --executor lo", "show rouge_", "run zebra-t", "run --run-dir zebra-t"]
    whole = ["leaderboard", "run --executor", "run --executor local", "show rouge_l", *["zebra-tasks.jsonl"] * 2]
    typed += ["run --executor=lo", "run --run-dir=zebra-t"]
    whole += ["run --executor=local", "run --run-dir=zebra-tasks.jsonl"]
    with Typing([shell, *start], tmp_path) as typing:
        typing.enter(f"source script.{shell}; PS1='> '; echo rea''dy", until="ready")
        for words, expected in zip(typed, whole, strict=True):
            typing.line(f"assay {words}\t", until=expected)


def test_fish_completes_commands_flags_choices_names_and_files(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("no fish here")
    (tmp_path / "script.fish").write_text(fish_script(all_words()))
    (tmp_path / "zebra-tasks.jsonl").touch()
    cases = {
        "lead": "leaderboard",
        "run --executo": "--executor",
        "run --executor lo": "local",
        "show rouge_": "rouge_l",
        "run zebra-t": "zebra-tasks.jsonl",
        "run --run-dir zebra-t": "zebra-tasks.jsonl",
        "run --executor=lo": "--executor=local",
        "list zebra-t": "",
        "show run --normal": "",  # `run` is no command here
    }
    asked = "; ".join(f'complete -C "assay {words}" | string split -f1 \\t; echo ===' for words in cases)
    said = subprocess.run(
        ["fish", "--no-config", "-c", f"source script.fish; {asked}"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [each.strip() for each in said.stdout.split("===\n")[:-1]] == [*cases.values()], said


class Typing:
    """A shell on a terminal of its own, and what it shows."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command, self._folder = command, folder

    def __enter__(self) -> Typing:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self._shell, self._terminal = pty.fork()
        if not self._shell:
            os.chdir(self._folder)
            os.execvpe(self._command[0], self._command, environment)
        return self

    def __exit__(self, *error: object) -> None:
        os.kill(self._shell, signal.SIGKILL)
        os.waitpid(self._shell, 0)
        os.close(self._terminal)

    def enter(self, line: str, *, until: str) -> None:
        os.write(self._terminal, f"{line}\n".encode())
        self._read(until)

    def line(self, text: str, *, until: str) -> None:
        """Type it, see what it becomes, and take it away again."""
        os.write(self._terminal, text.encode())
        self._read(until)
        os.write(self._terminal, b"\x15")

    def _read(self, until: str) -> None:
        seen, deadline = "", time.monotonic() + 300
        while until not in re.sub(r"[\r\n\a]", "", seen):
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no {until!r} in {seen!r}"
            seen += os.read(self._terminal, 65536).decode(errors="replace")


def test_fish_knows_what_follows_a_flag() -> None:
    script = fish_script(all_words())
    assert "-l executor -x -a 'local ray'" in script
    assert all(line.count("'") % 2 == 0 for line in script.splitlines())
