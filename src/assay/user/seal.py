"""Seals: which run folders hold attempts that this user made or accepted.

A run folder may come with a project, and its journal would then be used instead of calling the model. A seal is an
empty file whose name only this user can compute, because it depends on the user's secret. It records that nobody else's
attempts were in the folder when this user started working in it; it does not cover later changes by other users who can
write to the folder.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from assay.core.errors import UsageError
from assay.user.folder import user_secret

FOLDER = "seals"


def seal_folder(folder: Path, run: str) -> None:
    """Seal the folder of the run that `run` identifies; without a secret, log a warning instead."""
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


def is_sealed(folder: Path, run: str) -> bool:
    """Whether this user has sealed the folder."""
    try:
        return _place(folder, run).is_file()
    except UsageError:
        return False


def refuse_foreign(folder: Path) -> None:
    """Attempts of somebody else are used as answers of the model only if the user says so."""
    raise UsageError(
        f"{folder}: holds attempts that are not yours: another user, another machine or an older assay made them, or "
        f"they came with the folder. Look at them (`assay show {folder}`, `assay verify {folder}`), then use "
        "--resume-foreign to accept them as they are, or --fresh to move them aside and start over."
    )


def _place(folder: Path, run: str) -> Path:
    return folder / FOLDER / hashlib.blake2b(run.encode(), digest_size=16, key=user_secret()).hexdigest()
