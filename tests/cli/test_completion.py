"""Completion, asked of real shells: verbs, flags, their choices and names; files where nothing else is known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.cli.completion import SHELLS, all_words, bash_script, fish_script
from assay.cli.main import VERBS, main


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


def test_bash_completes_verbs_flags_choices_and_names(bash: Path) -> None:
    assert completed(bash, "") == {*VERBS, "--help", "--version"}
    assert completed(bash, "lead") == {"leaderboard"}
    assert completed(bash, "run", "--max-") == {"--max-answer-tokens", "--max-cost", "--max-tokens"}
    assert completed(bash, "run", "tasks", "--executor", "") == {"local", "ray"}
    assert "toy" in completed(bash, "run", "--model", "t")
    assert completed(bash, "show", "rouge_") >= {"rouge_l"}
    assert completed(bash, "completion", "") == set(SHELLS)


def test_where_nothing_is_known_the_shell_completes_files(bash: Path) -> None:
    assert completed(bash, "diff", "runs/") == set()
    assert "complete -o default" in bash.read_text()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_takes_its_script(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    said = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=True)
    assert said.stderr == ""


def test_fish_knows_what_follows_a_flag() -> None:
    script = fish_script(all_words())
    assert "-l executor -x -a 'local ray'" in script
    assert all(line.count("'") % 2 == 0 for line in script.splitlines())
