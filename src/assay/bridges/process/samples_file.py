"""Writes the samples that a package built into a file that assay reads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(order="sorted").encode


def write_samples(name: str, samples: Iterable[dict[str, Any]], folder: Path) -> tuple[Path, str]:
    """Write one line per sample into a file named by its content; return its path and sha256."""
    digest = hashlib.sha256()
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{os.getpid()}.partial"
    with partial.open("wb") as file:
        for sample in samples:
            line = _encode(sample) + b"\n"
            digest.update(line)
            file.write(line)
    shown = "".join(item if item.isalnum() or item in "-_" else "_" for item in name)[:100]
    path = folder / f"{shown}-{digest.hexdigest()[:16]}.jsonl"
    partial.replace(path)
    return path, digest.hexdigest()
