"""Seals: which run folders hold attempts that this user made, or said to take as they are.

A run folder may have come with a project, and its journal would then answer for the model. A seal is an empty file
whose name only this user can make, because it is made with the user's secret. It says that nobody else's attempts were
in the folder when this user began to work in it; it says nothing about those who can write to the folder since.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from assay.core.errors import UsageError
from assay.user.folder import user_secret

FOLDER = "seals"


def vouch(folder: Path, run: str) -> None:
    """Seal the folder of the run that `run` identifies. Where there is no secret to do it with, a warning says so."""
    try:
        place = _place(folder, run)
    except UsageError as error:
        logging.getLogger("assay").warning("%s: resuming it will need --resume-foreign, because %s", folder, error)
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    except OSError as error:
        raise UsageError(f"{place}: could not write: {error.strerror}") from error


def is_vouched_for(folder: Path, run: str) -> bool:
    """Whether this user has sealed the folder."""
    try:
        return _place(folder, run).is_file()
    except UsageError:
        return False


def refuse_foreign(folder: Path) -> None:
    """Attempts of somebody else are not taken for answers of the model without a word."""
    raise UsageError(
        f"{folder}: holds attempts that are not yours: another user, another machine or an older assay made them, or "
        f"they came with the folder. Look at them (`assay show {folder}`, `assay verify {folder}`), then use "
        "--resume-foreign to accept them as they are, or --fresh to move them aside and start over."
    )


def _place(folder: Path, run: str) -> Path:
    return folder / FOLDER / hashlib.blake2b(run.encode(), digest_size=16, key=user_secret()).hexdigest()
