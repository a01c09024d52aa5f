"""Datasets in YAML: each source has its own fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tasks.declarative.yaml_parts import read

from assay.core.errors import UsageError
from assay.tasks.declarative.records import (
    LocalSource,
)
from assay.tasks.declarative.schema import (
    checked_dataset,
)


def test_datasets(tmp_path: Path) -> None:
    document = read(tmp_path, "key: d\ndisplay_name: D\nfile_path: x.csv\n")
    source = checked_dataset(document, document.value).source
    assert isinstance(source, LocalSource)
    assert source.file_path == "x.csv"
    assert document.warnings
    document = read(tmp_path, "key: d\ndisplay_name: D\n")
    with pytest.raises(UsageError, match="needs `source`"):
        checked_dataset(document, document.value)
