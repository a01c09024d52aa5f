"""The GitHub step summary: the leaderboard and its gates as Markdown on the page of a workflow run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import UsageError
from assay.text.printable import one_line, printable

if TYPE_CHECKING:  # most runs write no summary, and need not import this
    from assay.pages.document import Block
    from assay.results.board.board_types import Leaderboard
    from assay.results.diff.differences import BoardDiff
    from assay.results.gates.result import GateResult

VARIABLE = "GITHUB_STEP_SUMMARY"
LARGEST = 900_000
"""GitHub drops a summary beyond 1 MiB, so ours is cut before."""


def write_step_summary(environment: Mapping[str, str], text: Callable[[], str]) -> bool:
    """Append to the summary when the environment has one; returns whether it did."""
    path = environment.get(VARIABLE)
    if not path:
        return False
    data = printable(text()).encode()
    if len(data) > LARGEST:
        data = data[:LARGEST].rsplit(b"\n", 1)[0] + b"\n\n(cut: the summary would be too long)\n"
    try:
        with Path(path).open("ab") as file:
            file.write(data + b"\n")
    except OSError as error:
        raise UsageError(f"{VARIABLE}={path}: could not write the step summary: {error.strerror}") from error
    return True


def run_summary(board: Leaderboard, gates: Sequence[GateResult]) -> str:
    """The leaderboard, its gates and notes."""
    from assay.pages.documents.leaderboard import notes
    from assay.pages.documents.more_tables import board_document
    from assay.pages.markdown import markdown

    lines = [f"## assay: {_text(board.model_label)}", "", markdown(board_document(board)), "", *gate_lines(gates)]
    lines += [f"- {_text(note)}" for note in notes(board)]
    return "\n".join(lines) + "\n"


def grid_summary(blocks: Sequence[Block]) -> str:
    """Rows against models and prompts, with their ranks."""
    from assay.pages.markdown import markdown

    return f"## assay: grid\n\n{markdown(blocks)}\n"


SIGNS = {"met": "✅", "not met": "❌", "cannot tell": "❔"}


def diff_summary(diff: BoardDiff | None, gates: Sequence[GateResult]) -> str:
    """The comparison, where it was not refused, and its gates."""
    from assay.pages.documents.diff import diff_table
    from assay.pages.markdown import markdown

    lines = ["## assay diff", ""]
    if diff is not None:
        lines = [f"## assay diff: {_text(diff.label_a)} → {_text(diff.label_b)}", "", _text(diff.verdict), ""]
        lines += [markdown(diff_table(diff)), ""]
    return "\n".join([*lines, *gate_lines(gates)]) + "\n"


def gate_lines(gates: Sequence[GateResult]) -> list[str]:
    lines = []
    for gate in gates:
        mark = f"{SIGNS[gate.outcome]} {gate.outcome}:"
        lines += [f"- {mark} {_text(sentence)}" for sentence in gate.sentences]
    return [*lines, ""] if lines else []


def _text(text: str) -> str:
    """Nothing that a model or server wrote may become markup on the page."""
    flat = one_line(text)
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;").replace("![", "!&#91;")
