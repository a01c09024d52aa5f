"""Console blocks: what differs from one run to the next is masked, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.console import Console, commands, same, with_outputs

TABLE = """\
task   score  p50 ms   ms
─────────────────────────
sums   1.000     1.2  0.6
words  0.500    11.5  9.0"""


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        (TABLE, TABLE.replace(" 1.2  0.6", "20.2 10.6"), True),
        (TABLE, TABLE.replace("0.500", "0.501"), False),
        ("made on 2026-11-17 in 3 s", "made on 2027-01-02T03:04:05Z in 0.25 s", True),
        ("made by 3 workers", "made by 4 workers", False),
        ("run: runs/toy-478f2df4", "run: runs/toy-0a1b2c3d", True),
        ("a\n…\nz", "a\nb\nz", False),
        ("", "something", False),
    ],
)
def test_what_a_page_shows_is_what_was_printed_but_for_times_dates_and_hashes(
    shown: str, printed: str, equal: bool
) -> None:
    assert same(shown, printed) is equal


def test_a_console_is_a_terminal_that_stays_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    console = Console(tmp_path, os.environ)
    assert console.run("cd inside") == ""
    assert console.run("pwd; test -t 1 && test -t 2 && echo terminal") == "/home/you/inside\nterminal"
    with pytest.raises(AssertionError, match="exit code 3"):
        console.run("exit 3")
    assert console.run("echo bad >&2; exit 3  # exit code 3") == "bad"


def test_output_is_written_where_the_page_shows_some() -> None:
    page = "```console\n$ quiet\n$ loud\n…\n$ two \\\n    lines\nold\n```\ntext\n"
    printed = {"quiet": ["nothing to see"], "loud": ["hello"], "two \\\n    lines": ["new"]}
    written = with_outputs(page, printed, whole=False)
    assert written == "```console\n$ quiet\n$ loud\nhello\n$ two \\\n    lines\nnew\n```\ntext\n"
    assert [command for command, _ in commands(written.splitlines()[1])] == ["quiet"]
