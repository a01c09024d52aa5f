"""Models in YAML: each provider has its own fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_parts import read

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_model,
)
from assay.formats.declarative.model_records import CustomConnection, ModelEntry


def test_models(tmp_path: Path) -> None:
    document = read(tmp_path, "key: openai$x\ndisplay_name: D\nconfig: {url: 'http://h', model_key: m}\n")
    model = checked_model(document, document.value)
    assert isinstance(model, ModelEntry)
    assert isinstance(model.config, CustomConnection)


def test_an_adapter_of_that_ecosystem_that_is_not_here_is_refused_by_name(tmp_path: Path) -> None:
    text = "key: m\ndisplay_name: D\nconfig: {url: 'http://h', adapter: {key: latticeflow$bedrock}}\n"
    document = read(tmp_path, text)
    with pytest.raises(UsageError, match=r"config\.adapter\.key: there is no adapter `latticeflow\$bedrock` here"):
        checked_model(document, document.value)
    for known in ("latticeflow$identity_chat_completion", "latticeflow$openai_responses", "my-own"):
        document = read(tmp_path, text.replace("latticeflow$bedrock", known))
        checked_model(document, document.value)
