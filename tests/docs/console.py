"""The console blocks of a page: run as someone at a terminal runs them, compared with the page, written into it.

A console block holds `$ command` lines, each followed by its whole output. What a page shows is compared with what was
printed, with everything masked that differs from one run to the next (times, dates, hashes, folders). A command that
shows nothing is only run. A command that must not exit with 0 has `# exit code N` after it, and `$ cd folder` holds for
the commands below it. `make docs` writes the output again where the page shows some.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

BLOCK = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
TEMPORARY_FOLDER = re.compile(r"[^\s:]*/pytest-of-[^/\s]+/pytest-\d+")

Command = tuple[str, str]
"""What stands after `$ `, and what the page shows below it."""


def commands(body: str) -> list[Command]:
    parsed: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            parsed.append((line[2:], []))
        elif parsed and parsed[-1][0].endswith("\\") and not parsed[-1][1]:
            parsed[-1] = (f"{parsed[-1][0]}\n{line}", [])
        elif parsed:
            parsed[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in parsed]


CI_VARIABLES = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
"""Programs print something else where these are set; the pages show what a person sees."""


class Console:
    """One terminal, 100 columns wide, that stands in a folder."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._top = self._folder = folder
        own = {name: value for name, value in environment.items() if name not in CI_VARIABLES}
        self._environment = {**own, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def run(self, command: str) -> str:
        """What the command prints; it must exit as it says."""
        if change := re.fullmatch(r"cd (\S+)", command):
            self._folder = (self._folder / change.group(1)).resolve()
            return ""
        code, printed = self._on_a_terminal(command)
        expected = int(match.group(1)) if (match := re.search(r"# exit code (\d+)", command)) else 0
        assert code == expected, f"$ {command}\nexit code {code}\n{printed}"
        return printed

    def _on_a_terminal(self, command: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
            )
        finally:
            os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as stream:
            printed = _until_hung_up(stream.fileno())
        return process.wait(), self._readable(printed.decode())

    def _readable(self, printed: str) -> str:
        text = printed.replace("\r\n", "\n").replace(str(self._top.resolve()), "/home/you")
        text = TEMPORARY_FOLDER.sub("/tmp/pytest-of-you/pytest-0", text)
        return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def _until_hung_up(stream: int) -> bytes:
    pieces = []
    while True:
        try:
            piece = os.read(stream, 1 << 16)
        except OSError:  # Linux reports EIO when the last writer has closed its end
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)


def same(shown: str, printed: str) -> bool:
    """Whether the page shows what was printed, but for what differs from one run to the next."""
    return masked(shown) == masked(printed)


MASKS = {
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?( ?UTC|Z|[+-]\d\d:\d\d)?)?": "DATE",
    r"\b(?=[a-f]*\d)[0-9a-f]{8,64}\b…?": "HASH",
    r"\d[\d,.]*(e-\d+)? ?(ms|µs|s|min|seconds?|minutes?|/s)\b( \d\d s\b)?": "TIME",
    r"127\.0\.0\.1:\d+|localhost:\d+": "HOST",
    r"(Python|assay|numpy) \d+\.\d+(\.\d+)?": r"\1 VERSION",
    r"─+|-{3,}:?|━+": "─",
    r"\s+": " ",
}


def masked(text: str) -> str:
    text = "\n".join(_without_times(text.splitlines()))
    for pattern, instead in MASKS.items():
        text = re.sub(pattern, instead, text)
    return text.strip()


def _without_times(lines: list[str]) -> list[str]:
    """The cells of columns in `ms`, masked: they are found by the place they end at."""
    ends: list[int] = []
    masked_lines = []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        cells = line
        if below and not below.strip("─"):
            ends = [heading.end() for heading in re.finditer(r"\bms(?=\s|$)", line)]
        elif not line.strip():
            ends = []
        else:
            for end in reversed(ends):
                cells = re.sub(r"\S+$", "TIME", cells[:end]) + cells[end:]
        masked_lines.append(cells)
    return masked_lines


def with_outputs(page: str, printed: Mapping[str, list[str]], *, whole: bool) -> str:
    """The page with the real output in every console block that shows some, or in all of them (`whole`)."""

    def block(match: re.Match[str]) -> str:
        language, file, body = match.groups()
        if language != "console" or file:
            return match.group(0)
        lines = []
        for command, shown in commands(body):
            output = printed[command].pop(0)
            only_run = not shown.strip() and not whole
            text = shown if only_run or same(shown, output) else output
            lines += [f"$ {command}", *([text] if text.strip() else [])]
        return "```console\n" + "\n".join(lines) + "\n```"

    return BLOCK.sub(block, page)
