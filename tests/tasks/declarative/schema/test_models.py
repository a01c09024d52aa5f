"""Models in YAML: each provider has its own fields."""

from __future__ import annotations

from pathlib import Path

from tests.tasks.declarative.yaml_parts import read

from assay.tasks.declarative.records import (
    CustomConnection,
    ModelEntry,
)
from assay.tasks.declarative.schema import (
    checked_model,
)


def test_models(tmp_path: Path) -> None:
    document = read(tmp_path, "key: openai$x\ndisplay_name: D\nconfig: {url: 'http://h', model_key: m}\n")
    model = checked_model(document, document.value)
    assert isinstance(model, ModelEntry)
    assert isinstance(model.config, CustomConnection)
