"""A project with a dataset and a model that tasks name by key."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.formats.declarative.library import Library
from assay.formats.declarative.nearby_files import NearbyFiles
from assay.formats.declarative.reading_options import ReadingOptions


def project_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the dataset `rows` and the model `judge`: the fixture `project`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "any.yaml").write_text(
        "key: rows\ndisplay_name: R\nsource: {type: inline, samples: [{q: 1}]}\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "any.yaml").write_text(
        "key: judge\ndisplay_name: J\nrate_limit: 60\nconfig: {connection_type: assay, model: toy}\n"
    )
    return tmp_path


def library(home: Path, reading: ReadingOptions | None = None, **environ: str) -> Library:
    return Library(NearbyFiles(home=home, root=home, environ=environ, reading=reading or ReadingOptions()))
