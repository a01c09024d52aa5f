"""The command line that made a run, changed so that it does something else with the same run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from assay.run_file import RunFile

NOT_AGAIN = ("--fresh",)
"""Switches of the first start that would move the run aside."""


def continuing(run: RunFile, folder: Path) -> str | None:
    """The command that continues the run in the folder where it lies now; None where no command line made it."""
    command = command_without(run, ("--run-dir",))
    if command is None:
        return None
    kept = [word for word in command if word not in NOT_AGAIN]
    place = [f"--run-dir={folder}"] if str(folder).startswith("-") else ["--run-dir", str(folder)]
    end = kept.index("--") if "--" in kept else len(kept)
    return shlex.join([*kept[:end], *place, *kept[end:]])


def command_without(run: RunFile, flags: Sequence[str]) -> list[str] | None:
    """The run's own command without these flags and their values, and with its own model where it was one of several;
    None where no command line made the run.
    """
    if run.command[:2] != ["assay", "run"]:
        return None
    kept = _without(run.command, flags)
    if sum(word == "--model" or word.startswith("--model=") for word in kept) > 1:  # a run each: this is one of them
        kept = [*_without(kept, ("--model",)), "--model", run.config.model]
    return kept


def _without(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    kept, skip = [], False
    for word in command:
        if skip:
            skip = False
        elif word in flags:
            skip = True
        elif not word.startswith(tuple(f"{flag}=" for flag in flags)):
            kept.append(word)
    return kept
