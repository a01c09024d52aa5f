"""Help fits the terminal: no line of any command's help is wider, and what can be copied stays whole."""

from __future__ import annotations

import argparse
import re

import pytest

from assay.cli.help_text import HelpFormatter
from assay.cli.main import SUBCOMMANDS, main

EPILOG = """\
examples:
  assay run                                 the starter tasks
  assay run tasks/ --model openai:my-model --model-arg base_url=http://localhost:8000/v1
  assay run tasks/ --model my_module:mine   your own function, object or class, from a file here

exit codes:
  0    done, and nothing failed at all in any of the tasks that were run
  130  interrupted

A sentence that is longer than a line of a terminal
has room for, and is written on two lines.
"""


def laid_out(columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    parser = argparse.ArgumentParser(prog="p", epilog=EPILOG, add_help=False, formatter_class=HelpFormatter)
    return parser.format_help().partition("\n\n")[2]


def test_a_wide_terminal_shows_rows_as_they_were_written(monkeypatch: pytest.MonkeyPatch) -> None:
    text = laid_out(120, monkeypatch)
    assert text.startswith(EPILOG.partition("\n\nA sentence")[0])
    assert text.endswith("has room for, and is written on two lines.\n")


def test_a_narrow_terminal_shows_explanations_below_and_continues_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert laid_out(62, monkeypatch) == (
        "examples:\n"
        "  assay run\n"
        "      the starter tasks\n"
        "  assay run tasks/ --model openai:my-model \\\n"
        "    --model-arg base_url=http://localhost:8000/v1\n"
        "  assay run tasks/ --model my_module:mine\n"
        "      your own function, object or class, from a file here\n"
        "\n"
        "exit codes:\n"
        "  0    done, and nothing failed at all in any of the tasks\n"
        "       that were run\n"
        "  130  interrupted\n"
        "\n"
        "A sentence that is longer than a line of a terminal has room\n"
        "for, and is written on two lines.\n"
    )


@pytest.mark.parametrize("verb", [*SUBCOMMANDS, ""])
def test_help_fits_eighty_columns(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([verb, "--help"] if verb else ["--help"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("verb", SUBCOMMANDS)
def test_help_has_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([verb, "--help"])
    assert re.search(rf"^examples:\n(?:  .*\n)*?  .*\bassay {verb}\b", capsys.readouterr().out, re.MULTILINE)
