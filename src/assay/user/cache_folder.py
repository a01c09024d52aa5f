"""Where assay keeps what it can make or download again: models, indexes of other programs and of runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`ASSAY_CACHE`, or assay's part of the user's cache folder."""
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "assay"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "assay"
