"""What each kind of server says that it serves, asked over loopback in the shape that the server has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.servers.fake_openai import fake_openai

from assay.core.seams import Served
from assay.models.adapters.http_model import FACT_SECONDS
from assay.models.model_names import make_model
from assay.models.served import PROBE_SECONDS, served_by

DIGEST = "a2af6cc3eb7fa8be8504abaf9b04e88f17a119ec3f04a3addf55f92841195f5a"
COMMIT = "e985a63cdc139290c5f700ff1929f0b5942cced2"

OLLAMA = {
    "/v1/models": {"data": [{"id": "gemma3:latest", "object": "model", "created": 1730, "owned_by": "library"}]},
    "/api/tags": {
        "models": [
            {"name": "other:latest", "digest": "f" * 64, "size": 1},
            {
                "name": "gemma3:latest",
                "digest": DIGEST,
                "size": 3338801804,
                "details": {"quantization_level": "Q4_K_M"},
            },
        ]
    },
    "/api/version": {"version": "0.12.6"},
}
TGI = {
    "/v1/models": {"data": [{"id": "org/m", "object": "model", "created": 0, "owned_by": "org/m"}]},
    "/info": {"model_id": "org/m", "model_sha": COMMIT, "model_dtype": "torch.float16", "version": "3.3.2"},
}
VLLM = {
    "/v1/models": {
        "data": [
            {"id": "adapter", "owned_by": "vllm", "root": "/lora", "parent": "my-model", "max_model_len": None},
            {
                "id": "my-model",
                "created": 99,
                "owned_by": "vllm",
                "root": "/ckpt/1",
                "parent": None,
                "max_model_len": 8,
            },
        ]
    },
    "/version": {"version": "0.11.0"},
}
LLAMACPP = {
    "/v1/models": {
        "data": [{"id": "loaded.gguf", "owned_by": "llamacpp", "meta": {"n_params": 8030261312, "size": 4912898304}}]
    },
    "/props": {"model_path": "/models/loaded.gguf", "build_info": "b8681", "chat_template": "{{ messages }}"},
}
SGLANG = {
    "/v1/models": {"data": [{"id": "qwen", "owned_by": "sglang", "root": "qwen", "max_model_len": 32768}]},
    "/get_model_info": {"model_path": "qwen/qwen2.5", "is_generation": True, "weight_version": "default"},
}
LMSTUDIO = {
    "/v1/models": {"data": [{"id": "qwen", "owned_by": "organization_owner"}]},
    "/api/v0/models": {
        "data": [{"id": "qwen", "publisher": "mlx", "quantization": "4bit", "compatibility_type": "gguf"}]
    },
}


def ask(spec: str, pages: dict[str, Any]) -> tuple[Served | None, list[str]]:
    """What the model on a server with these pages serves, and the paths that were asked for."""

    async def served() -> tuple[Served | None, list[str]]:
        async with fake_openai() as server:
            server.pages = pages
            model = make_model(f"{spec}@{server.base_url}")
            answer = await served_by(model)
            await model.aclose()  # type: ignore[attr-defined]
            return answer, [head.split()[1] for head in server.gets]

    return asyncio.run(served())


@pytest.mark.parametrize("spec", ["ollama:gemma3", "ollama:gemma3:latest", "openai:gemma3:latest"])
def test_the_digest_of_ollama_is_strong(spec: str) -> None:
    served, _ = ask(spec, OLLAMA)
    assert served is not None
    assert served.strong == {"digest": DIGEST}
    assert served.weak["quantization"] == "Q4_K_M"
    assert served.weak["version"] == "0.12.6"


def test_the_revision_of_text_generation_inference_is_strong() -> None:
    served, _ = ask("openai:org/m", TGI)
    assert served is not None
    assert served.strong == {"revision": COMMIT}
    assert served.weak["dtype"] == "torch.float16"


@pytest.mark.parametrize("spec", ["vllm:my-model", "openai:my-model"])
def test_the_root_of_vllm_is_weak_and_created_is_ignored(spec: str) -> None:
    served, asked = ask(spec, VLLM)
    assert served == Served(
        weak={"root": "/ckpt/1", "max_model_len": "8", "owned_by": "vllm", "version": "0.11.0"},
    )
    assert asked == ["/v1/models", "/version"]


@pytest.mark.parametrize("spec", ["llamacpp:any-name", "openai:any-name"])
def test_llama_cpp_names_the_file_that_answers_whatever_name_is_asked_for(spec: str) -> None:
    served, _ = ask(spec, LLAMACPP)
    assert served is not None
    assert not served.strong
    assert served.weak["listed as"] == "loaded.gguf"
    assert served.weak["path"] == "/models/loaded.gguf"
    assert served.weak["n_params"] == "8030261312"
    assert len(served.weak["chat template"]) == 16


@pytest.mark.parametrize("spec", ["sglang:qwen", "openai:qwen"])
def test_sglang_says_its_path_and_weight_version(spec: str) -> None:
    served, _ = ask(spec, SGLANG)
    assert served is not None
    assert (served.weak["path"], served.weak["weight_version"]) == ("qwen/qwen2.5", "default")


@pytest.mark.parametrize("spec", ["lmstudio:qwen", "openai:qwen"])
def test_lm_studio_says_publisher_and_quantization(spec: str) -> None:
    served, _ = ask(spec, LMSTUDIO)
    assert served is not None
    assert (served.weak["publisher"], served.weak["quantization"]) == ("mlx", "4bit")


def test_a_name_that_is_not_in_the_list_is_recorded_with_the_names_that_are() -> None:
    served, _ = ask("openai:mine", {"/v1/models": {"data": [{"id": "b"}, {"id": "a"}]}})
    assert served == Served(weak={"models": "a, b"})


@pytest.mark.parametrize(
    "pages",
    [
        {},
        dict.fromkeys(["/v1/models", "/info", "/api/tags", "/props"], b"<html>Sign in</html>"),
        dict.fromkeys(["/v1/models", "/info", "/api/tags", "/props"], 3),
        {"/v1/models": {"data": [7, {"id": {"a": 1}}]}, "/api/tags": {"models": [None, {"name": []}]}, "/info": ["x"]},
        {"/v1/models": {"data": {"id": "m"}}, "/props": {"model_path": {"deep": [1]}, "chat_template": 5}},
    ],
    ids=["404", "HTML", "a number", "odd entries", "odd fields"],
)
def test_a_server_that_answers_something_else_does_not_say(pages: dict[str, Any]) -> None:
    assert ask("openai:m", pages)[0] is None


def test_a_server_that_hangs_costs_a_bounded_time_and_keeps_what_was_said() -> None:
    served, asked = ask("llamacpp:m", {"/v1/models": {"data": [{"id": "m", "root": "r"}]}, "/props": "hang"})
    assert served == Served(weak={"root": "r"})
    assert asked == ["/v1/models", "/props"]
    assert 2 * FACT_SECONDS < PROBE_SECONDS


def test_the_key_is_sent_to_the_models_own_server_and_kept_out_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret-key-of-the-user")

    async def heads() -> tuple[Served | None, list[str]]:
        async with fake_openai() as server:
            server.pages = {"/v1/models": {"data": [{"id": "m", "root": "sk-secret-key-of-the-user"}]}}
            model = make_model(f"vllm:m@{server.base_url}")
            served = await served_by(model)
            await model.aclose()  # type: ignore[attr-defined]
            return served, server.gets

    served, sent = asyncio.run(heads())
    assert all("sk-secret-key-of-the-user" in head for head in sent)
    assert served is not None
    assert "sk-secret" not in str(served), "a server that repeats the key does not get it into a run folder"


def test_a_hosted_service_is_asked_for_its_list_only() -> None:
    from assay.models.adapters.server_identity import identify

    asked: list[str] = []

    async def ask_for(url: str) -> Any:
        asked.append(url)
        return {"data": [{"id": "gpt", "created": 5, "owned_by": "system"}]}

    served = asyncio.run(identify(ask_for, adapter="openai", model="gpt", base_url="https://api.openai.com/v1"))
    assert served == Served(weak={"owned_by": "system"})
    assert asked == ["https://api.openai.com/v1/models"]
