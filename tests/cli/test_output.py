"""A terminal gets a layout that fits it, a pipe gets Markdown, and the flags and NO_COLOR are heeded."""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.end_to_end.commands import write_task

from assay.cli import output, streams
from assay.cli.main import main
from assay.pages.document import Span, TextTable
from assay.pages.text_width import width_of

TABLE = TextTable(
    header=["task", "score", "ms"],
    rows=[["a\x1b[31m|b", Span("0.500", "key"), "1.0"], [Span("overall", "strong"), Span("0.500", "bad"), ""]],
    numeric_from=1,
    drops=("ms",),
)


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, columns: int, **environment: str) -> Iterator[list[str]]:
    """A real terminal of that width behind stdout and stderr; what was written to it, when it is over."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST  # line breaks as they were written
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    shown: list[str] = []
    parts: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, parts))
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        with streams.only_printable():
            yield shown
        stream.flush()
    reader.join()
    os.close(ours)
    shown.append(b"".join(parts).decode())


def read_all(terminal: int, parts: list[bytes]) -> None:
    """Until no one has the other end: who writes must not wait for us."""
    with suppress(OSError):
        while part := os.read(terminal, 65536):
            parts.append(part)


def options(**flags: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"markdown": False, "plain": False, **flags})


def test_a_terminal_gets_a_layout_with_styles_and_no_control_characters_of_strangers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with terminal(monkeypatch, 80) as shown:
        output.show(TABLE, options())
    assert shown[0].splitlines() == [
        "\x1b[2mtask\x1b[0m           \x1b[2mscore\x1b[0m   \x1b[2mms\x1b[0m",
        f"\x1b[2m{'─' * 25}\x1b[0m",
        "a\\u001b[31m|b  \x1b[1m0.500\x1b[0m  1.0",
        "\x1b[1moverall\x1b[0m        \x1b[31m0.500\x1b[0m",
    ]


@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_there_is_no_escape_sequence(monkeypatch: pytest.MonkeyPatch, quiet: dict[str, str]) -> None:
    with terminal(monkeypatch, 22, **quiet) as shown:
        output.show(TABLE, options())
    assert shown[0].splitlines() == [
        "task           score",
        "─" * 20,
        "a\\u001b[31m|b  0.500",
        "overall        0.500",
        "not shown: ms",
    ]


def test_plain_is_for_pipes_too_and_markdown_for_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal(monkeypatch, 80) as shown:
        output.show(TABLE, options(markdown=True))
    output.show(TABLE, options())
    assert shown[0] == capsys.readouterr().out
    assert shown[0].splitlines()[3] == "| **overall**    | 0.500 |     |"
    with terminal(monkeypatch, 80) as shown:
        output.show(TABLE, options(plain=True))
    output.show(TABLE, options(plain=True))
    assert shown[0] == capsys.readouterr().out
    assert shown[0].splitlines()[0] == "task           score   ms"


def test_a_sentence_is_broken_at_words_on_a_terminal_and_one_line_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal(monkeypatch, 12) as shown:
        output.print_notes(["three short words"], options())
    assert shown[0] == "\n\x1b[2m• \x1b[0mthree\n\x1b[2m  \x1b[0mshort\n\x1b[2m  \x1b[0mwords\n"
    output.print_notes(["three short words"], options())
    assert capsys.readouterr().err == "three short words\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "a task.yaml", "--model", "nobody", "--run-dir", "x"],
        ["run", "t.jsonl", "--max-tokens", "many words that are not a number at all, not even a small one by any name"],
        ["leaderboard", *(f"runs/number-{n}-of-many" for n in range(1, 9))],
    ],
)
def test_an_error_is_broken_at_words_on_a_terminal_and_one_line_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def fails() -> None:
        with suppress(SystemExit):
            assert main(arguments) == 2

    with terminal(monkeypatch, 40) as shown:
        fails()
    fails()
    piped = capsys.readouterr().err
    assert max(map(len, piped.splitlines())) > 40
    assert shown[0].split() == piped.split()
    assert max(map(len, shown[0].splitlines())) <= 40


def test_a_word_longer_than_a_line_is_left_to_the_terminal_and_an_indented_line_stays_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = "/".join(["folder"] * 10)
    with terminal(monkeypatch, 30) as shown:
        print(f"error in {path}: no such file\n  which is a sentence that is too long for it", file=sys.stderr)
    lines = shown[0].splitlines()
    assert lines[:3] == ["error in", f"{path}:", "no such file"]
    assert lines[3:] == ["  which is a sentence that is", "  too long for it"]


def test_a_terminal_that_lacks_our_characters_gets_markdown() -> None:
    class Ascii(io.StringIO):
        encoding = "ascii"

        def isatty(self) -> bool:
            return True

    assert not output.can_lay_out(Ascii())


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_every_command_that_prints_a_table_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, columns: int
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "算数の問題-and-a-name-that-is-longer-than-any-table-has-room-for.jsonl"
    write_task(tmp_path / name, {f"compute: {n} + 1": str(n + 1) for n in range(4)})
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n')
    run = ["run", name, "--model", "toy", "--quiet"]
    commands = [
        [*run, "--run-dir", "a", "--dry-run"],
        [*run, "--run-dir", "a"],
        [*run, "--run-dir", "b", "--repeat", "2"],
        ["show", "a"],
        ["report", "a"],
        ["leaderboard", "a", "b"],
        ["diff", "a", "b", "--allow-unequal"],
        ["verify", "a", name],
        ["check", name],
        ["validate", "bad.jsonl"],
        ["list"],
        ["recipe", "list"],
    ]
    for command in commands:
        with terminal(monkeypatch, columns, NO_COLOR="1") as shown:
            main(command)
        lines = shown[0].splitlines()
        assert not any(line.startswith("| ") for line in lines), command
        assert max(map(width_of, table_lines(lines))) <= columns, command


def table_lines(lines: list[str]) -> list[str]:
    """The rows of tables: what stands between a header's rule and the next empty line."""
    found, inside = [""], False
    for line in lines:
        inside = bool(line) and (inside or line.startswith("──"))
        if inside:
            found.append(line)
    return found
