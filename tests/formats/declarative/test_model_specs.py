"""Models of files and providers, as `--model` would name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.nearby_projects import library, project_in
from tests.formats.declarative.yaml_tasks import TASK, Read

from assay.core.errors import UsageError
from assay.formats.declarative.model_specs import provider_key


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return project_in(tmp_path, monkeypatch)


def test_a_provider_is_the_first_part_of_its_models_name() -> None:
    assert provider_key("openai/gpt-4.1-nano") == ("openai$gpt-4-1-nano", "openai", "gpt-4.1-nano")
    assert provider_key("together/a/b") == ("together$a-b", "together", "a/b")


@pytest.mark.parametrize("setting", ["custom_headers: {X-Team: a}", "tls_context: {verify: false}"])
def test_settings_of_a_connection_that_would_not_be_used_are_refused(project: Path, setting: str) -> None:
    (project / "models" / "any.yaml").write_text(
        f"key: judge\ndisplay_name: J\nconfig: {{url: 'http://127.0.0.1:9/v1', {setting}}}\n"
    )
    with pytest.raises(UsageError, match=rf"any.yaml:3:.*config.{setting.partition(':')[0]}: a connection"):
        library(project).model("judge")


def test_a_key_written_into_a_model_file_is_refused(read: Read, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text(
        "key: who\ndisplay_name: W\nconfig: {url: 'http://127.0.0.1:9/v1', api_key: sk-abcdef}\n"
    )
    with pytest.raises(UsageError, match="never written into a file") as caught:
        read(TASK + "    - {type: labeler_via_model, model_key: who, user_prompt: x}\n")
    assert "sk-abcdef" not in str(caught.value)
