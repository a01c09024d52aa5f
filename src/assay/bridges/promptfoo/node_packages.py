"""Where an npm package is installed: above the configuration, or next to promptfoo itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import UsageError


class NodePackage(NamedTuple):
    """An installed package."""

    name: str
    home: Path
    """The folder above its `node_modules`."""
    version: str

    @property
    def folder(self) -> Path:
        return self.home / "node_modules" / self.name


def find_package(name: str, folder: Path) -> NodePackage:
    """The package as node finds it from this folder, or from promptfoo's own; `UsageError` where it is missing."""
    if shutil.which("node") is None:
        raise UsageError("it needs `node`, which is not installed")
    for home in _homes(folder):
        try:
            about = json.loads((home / "node_modules" / name / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        return NodePackage(name, home, str(about.get("version")))
    raise UsageError(f"it needs the npm package `{name}`; run `npm install {name}` in {folder.absolute()}")


def _homes(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.absolute().parents
    if promptfoo := shutil.which("promptfoo"):
        yield from Path(promptfoo).resolve().parents
