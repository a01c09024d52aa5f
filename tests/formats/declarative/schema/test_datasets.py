"""Datasets in YAML: each source has its own fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_parts import read

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_dataset,
)


def test_datasets(tmp_path: Path) -> None:
    document = read(tmp_path, "key: d\ndisplay_name: D\nfile_path: x.csv\n")
    source = checked_dataset(document, document.value).source
    assert (source.type, source.options["file_path"]) == ("local", "x.csv")
    assert document.warnings
    document = read(tmp_path, "key: d\ndisplay_name: D\n")
    with pytest.raises(UsageError, match="needs `source`"):
        checked_dataset(document, document.value)


REFUSED_SOURCES = ("inspect_ai", "langsmith", "phoenix", "claude_code")


@pytest.mark.parametrize("source", REFUSED_SOURCES)
def test_a_source_that_speaks_to_a_service_is_refused_with_a_way_around(tmp_path: Path, source: str) -> None:
    document = read(tmp_path, f"key: d\ndisplay_name: D\nsource: {{type: {source}}}\n")
    with pytest.raises(UsageError, match=r"source\.type: .*: export them, and write `source: \{type: traces"):
        checked_dataset(document, document.value)


def test_a_generator_next_to_its_dataset_is_refused_with_a_way_around(tmp_path: Path) -> None:
    generator = "{dataset_generator_key: g, dataset_generator_config: {}, num_samples: 3}"
    document = read(tmp_path, f"key: d\ndisplay_name: D\ngenerator_specification: {generator}\n")
    with pytest.raises(UsageError, match=r"generator_specification: .*`source: \{type: generated"):
        checked_dataset(document, document.value)
