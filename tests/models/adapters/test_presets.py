"""Servers by name: where they listen, which key they want, and that they are the OpenAI adapter underneath."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.contracts.model import check_model, closing
from tests.servers.fake_openai import fake_openai

from assay.core.errors import UsageError
from assay.core.seams import Model, offers_of
from assay.core.types import Request
from assay.models.adapters.providers import split_address
from assay.models.model_names import make_model
from assay.models.pool import ModelPool
from assay.run_config import RunConfig

LOCAL = {
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
    "llamacpp": "http://localhost:8080/v1",
    "sglang": "http://localhost:30000/v1",
    "lmstudio": "http://localhost:1234/v1",
    "litellm-proxy": "http://localhost:4000/v1",
}
HOSTED = {
    "openrouter": "OPENROUTER_API_KEY",
    "groq": "GROQ_API_KEY",
    "together": "TOGETHER_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "xai": "XAI_API_KEY",
}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no .env of the developer's
    for key in HOSTED.values():
        monkeypatch.delenv(key, raising=False)


@pytest.mark.parametrize(("word", "address"), LOCAL.items())
def test_a_local_server_needs_no_key_and_has_its_usual_address(word: str, address: str) -> None:
    model = make_model(f"{word}:qwen/x:7b")
    assert model.name == f"{word}:qwen/x:7b"
    assert model.settings["base_url"] == address  # type: ignore[attr-defined]


@pytest.mark.parametrize(("word", "key"), HOSTED.items())
def test_a_hosted_server_needs_its_own_key(word: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=key):
        ModelPool(RunConfig()).wrap(make_model(f"{word}:m"))
    monkeypatch.setenv(key, "sk-1")
    assert make_model(f"{word}:m").settings["base_url"].startswith("https://")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("m@http://gpu:9000/v1", ("m", "http://gpu:9000/v1")),
        ("m@http://gpu:9000", ("m", "http://gpu:9000/v1")),
        ("org/m:7b@gpu:9000", ("org/m:7b", "http://gpu:9000/v1")),
        ("m@https://gpu/openai/v1", ("m", "https://gpu/openai/v1")),
        ("m@2024-01", ("m@2024-01", None)),
        ("m", ("m", None)),
    ],
)
def test_a_model_may_name_its_server(written: str, parts: tuple[str, str | None]) -> None:
    assert split_address(written) == parts


def test_a_server_named_twice_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        make_model("vllm:m@http://a/v1", {"base_url": "http://b/v1"})
    with pytest.raises(UsageError, match="Did you mean `mode`"):
        make_model("vllm:m", {"mod": "completions"})


@pytest.mark.parametrize("word", [*LOCAL, *HOSTED])
@pytest.mark.parametrize("mode", ["chat", "completions"])
def test_it_keeps_the_contract_of_a_model(word: str, mode: str) -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with (
            fake_openai() as server,
            closing(make_model(f"{word}:m@{server.base_url}", {"mode": mode})) as model,
        ):
            yield model

    check_model(make_one)


def test_a_text_server_scores_continuations() -> None:
    async def score() -> float | None:
        async with fake_openai() as server:
            model = make_model(f"vllm:m@{server.base_url}", {"mode": "completions"})
            async with closing(model):
                assert offers_of(model).likelihoods != "no"
                return (await model.generate(Request(prompt="a b", continuation=" c d"))).logprob

    assert asyncio.run(score()) == -2.0


@pytest.mark.parametrize("where", ["environment", ".env"])
@pytest.mark.parametrize(
    ("word", "name"),
    [
        *((word, f"{word.upper()}_BASE_URL") for word in (*HOSTED, "openai", "anthropic", "gemini", "vllm")),
        *(("openai", name) for name in ("OPENAI_API_BASE", "OPENAI_API_BASE_URL")),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
    ],
)
def test_an_address_next_to_a_key_that_nothing_reads_is_refused(
    where: str, word: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"{word.upper()}_API_KEY"
    monkeypatch.setenv(key, "sk-1")
    if where == ".env":
        Path(".env").write_text(f"{name}=http://127.0.0.1:9/v1\n")
    elif (word, name) == ("openai", "OPENAI_BASE_URL"):
        return  # the one that is read
    else:
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    with pytest.raises(UsageError) as caught:
        make_model(f"{word}:m")
    assert f"{where}: {name} is not read from there, so {key} would be sent to http" in str(caught.value)
    assert f"`{word}:m@URL`" in str(caught.value)
    make_model(f"{word}:m@http://127.0.0.1:9/v1")  # as advised
    monkeypatch.delenv(key)
    make_model(f"{word}:m")  # no key goes anywhere


@pytest.mark.parametrize("where", ["environment", ".env"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OLLAMA_HOST", "gpu-box:11434"),
        ("OLLAMA_HOST", "127.0.0.1:11500"),
        ("OLLAMA_BASE_URL", "http://gpu-box/v1"),
        ("VLLM_BASE_URL", "http://gpu-box:8000/v1"),
    ],
)
def test_an_address_that_nothing_reads_is_named_where_no_key_is_sent(
    where: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = name.partition("_")[0].lower()
    if where == ".env":
        Path(".env").write_text(f"{name}={value}\n")
    else:
        monkeypatch.setenv(name, value)
    [note] = offers_of(make_model(f"{word}:m")).notes
    assert f"{where}: {name} is not read; `{word}:m` is called at http://localhost:" in note
    assert not offers_of(make_model(f"{word}:m@http://127.0.0.1:9/v1")).notes


@pytest.mark.parametrize("value", ["0.0.0.0", "127.0.0.1:11434", "localhost", ":11434", "http://localhost:11434/"])
def test_where_ollama_listens_on_this_machine_is_where_it_is_asked(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)
    assert not offers_of(make_model("ollama:m")).notes
    monkeypatch.setenv("OLLAMA_API_KEY", "sk-1")
    make_model("ollama:m")  # the key goes where it belongs


def test_a_key_of_another_name_is_kept_from_the_wrong_server_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("TEAM_KEY=sk-1\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is not read from there, so TEAM_KEY would be sent"):
        make_model("openai:m", {"api_key_env": "TEAM_KEY"})


@pytest.mark.parametrize("address", ["https://api.anthropic.com", "https://api.anthropic.com/v1/"])
def test_the_address_that_is_used_anyway_is_no_contradiction(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    make_model("anthropic:m")
