"""A tiny model where the embedded one would lie, converted, loaded and served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.models.embedded import tiny_llama
from tests.models.embedded.serving import Server

from assay.models.embedded import weights as embedded_weights
from assay.models.embedded.engine import Engine, load_weights
from assay.models.likelihood.token_texts import TokenTexts


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which the tiny model lies where the embedded one would."""
    place = tmp_path_factory.mktemp("cache")
    folder = place / "models" / embedded_weights.model_folder().name
    folder.mkdir(parents=True)
    gguf = tiny_llama.write_gguf(folder / "model.gguf")
    embedded_weights.convert(gguf, folder, about={"name": "tiny", "licence": "none", "sha256": "0"})
    return place


@pytest.fixture(scope="session")
def server(cache: Path) -> Iterator[Server]:
    with Server(cache) as server:
        yield server


@pytest.fixture
def address(server: Server) -> str:
    return server.address()


@pytest.fixture(scope="session")
def texts(cache: Path) -> TokenTexts:
    return TokenTexts(cache / "models" / embedded_weights.model_folder().name / "tokenizer.json")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(load_weights(tiny_llama.write_folder(tmp_path_factory.mktemp("tiny"))))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, taken the whole way: written as a published file, then converted."""
    place = tmp_path_factory.mktemp("tiny")
    gguf = tiny_llama.write_gguf(place / "model.gguf")
    embedded_weights.convert(gguf, place, about={"name": "tiny", "licence": "none", "sha256": "0"})
    return place
