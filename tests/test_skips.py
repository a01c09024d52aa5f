"""A skip without a reason that holds on this machine fails the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import skips
from tests.end_to_end.forks import ROOT


def run_tests(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}"]
    command += ["-p", "tests.skips", "-p", "no:assay", "-n", "0", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_skip_with_a_reason_of_its_own_fails_the_run_and_is_shown(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "import pytest\ndef test_it(): pytest.skip('not today')\ndef test_more(): pass\n")
    assert done.returncode == 1
    assert "1  NO EXCUSE: not today" in done.stdout


def test_a_skip_that_the_table_excuses_is_counted_and_passes(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "import pytest\ndef test_it(): pytest.skip('this file system takes no such name')\n")
    assert done.returncode == 0, done.stdout
    assert "1  this file system takes no such name" in done.stdout


def test_a_reason_that_does_not_hold_here_is_no_excuse() -> None:
    assert skips.is_excused("no such-program-as-this here") is False  # two words: not the reason of the table
    assert skips.is_excused("no nosuchprogram here")
    assert not skips.is_excused("no sh here")


def test_without_packages_of_the_locked_set_nothing_is_skipped() -> None:
    assert not skips.is_excused("could not import 'scipy': No module named 'scipy'")
    assert not skips.is_excused("needs the extra `embedded`")


def test_a_sandbox_that_broke_is_not_a_host_without_one() -> None:
    with pytest.raises(AssertionError):
        skips.skip_without_sandbox("the zygote ended with code 1")
    with pytest.raises(pytest.skip.Exception):
        skips.skip_without_sandbox("no sandbox of tier A or better on this host (…)")
