"""Hub datasets are read at a revision, the newest where none is given, and run no code."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.hub import Hub


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the hub's own libraries are asked for; what they would fetch cannot be had here."""
    asked: list[Any] = []

    def load_dataset(path: str, **how: Any) -> list[dict[str, Any]]:
        asked.append((path, how))
        return [{"q": 1}]

    class HfApi:
        def dataset_info(self, path: str) -> SimpleNamespace:
            asked.append(path)
            if path == "org/none":
                raise RuntimeError("404 Client Error")
            return SimpleNamespace(sha="f00d")

    loader, hub = ModuleType("datasets"), ModuleType("huggingface_hub")
    loader.__dict__.update(disable_progress_bars=lambda: None, load_dataset=load_dataset)
    hub.__dict__.update(HfApi=HfApi)
    monkeypatch.setitem(sys.modules, "datasets", loader)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return asked


def test_a_revision_that_is_given_is_the_one_read(asked: list[Any]) -> None:
    dataset = Hub(repository="org/set", split="test", revision="abc")
    assert dataset.is_pinned
    assert len(dataset) == 1
    assert asked == [("org/set", {"split": "test", "revision": "abc"})]
    assert dataset.sha256 != Hub(repository="org/set", split="test", revision="abd").sha256


def test_without_one_the_newest_is_found_out_and_read(asked: list[Any]) -> None:
    dataset = Hub(repository="org/set", split="test", name="rows")
    assert not dataset.is_pinned
    pin = dataset.pin()
    assert pin.options == {"revision": "f00d"}
    assert "scores on it cannot be reproduced" in pin.warning
    assert "write `revision: f00d`" in pin.warning
    assert len(dataset) == 1
    assert asked == ["org/set", ("org/set", {"split": "test", "revision": "f00d"})]
    assert dataset.sha256 == Hub(repository="org/set", split="test", revision="f00d").sha256


@pytest.mark.usefixtures("asked")
def test_what_the_hub_does_not_have_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="dataset `org/none`: org/none could not be loaded: 404 Client Error"):
        Hub(repository="org/none", split="test").pin()


def test_without_the_libraries_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"pip install 'assay-eval\[hub\]'"):
        Hub(repository="org/set", split="test").pin()


def test_it_runs_no_code() -> None:
    with pytest.raises(UsageError, match="trust_remote_code"):
        Hub(repository="org/set", split="test", revision="abc", load_dataset_kwargs={"trust_remote_code": True})
