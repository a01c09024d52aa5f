"""Servers that speak the OpenAI protocol, by name: where they usually listen and which key they want.

`ollama:MODEL` is `openai:MODEL` with another address; `vllm:MODEL@URL` says where the server is. Every option of
`openai` works here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.models.http_model import split_address
from assay.models.openai_http import MaxTokensField, Mode, OpenAIModel


def _preset(word: str, address: str, *, key: str, hosted: bool, what: str) -> Callable[..., OpenAIModel]:
    kind = type(f"{word.title()}Model", (OpenAIModel,), {"adapter": word})

    def make(
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = key,
        api_key_header: str = "Authorization",
        mode: Mode = "chat",
        max_tokens_field: MaxTokensField = "max_tokens",
        timeout_seconds: float | None = 600.0,
        extra: Mapping[str, Any] | None = None,
        keep_raw: bool = False,
        document_mark: str | None = None,
        check_likelihoods: bool = True,
    ) -> OpenAIModel:
        name, at = split_address(model)
        if at is not None and base_url is not None:
            raise UsageError(f"`{word}:{model}` names a server and base_url another; say it once")
        found: OpenAIModel = kind(
            name,
            base_url=at or base_url or address,
            api_key_env=api_key_env,
            api_key_header=api_key_header,
            mode=mode,
            max_tokens_field=max_tokens_field,
            timeout_seconds=timeout_seconds,
            extra=extra,
            keep_raw=keep_raw,
            document_mark=document_mark,
            check_likelihoods=check_likelihoods,
            key_required=hosted and at is None and base_url is None,
        )
        return found

    make.__doc__ = f"""{what}: `{word}:MODEL`, or `{word}:MODEL@URL` for another address than {address}.

    The key is read from the environment variable {key}{"" if hosted else " if there is one"}. Options as for `openai`.
    """
    return make


ollama = _preset("ollama", "http://localhost:11434/v1", key="OLLAMA_API_KEY", hosted=False, what="Ollama")
vllm = _preset("vllm", "http://localhost:8000/v1", key="VLLM_API_KEY", hosted=False, what="A vLLM server")
llamacpp = _preset(
    "llamacpp", "http://localhost:8080/v1", key="LLAMA_API_KEY", hosted=False, what="llama.cpp's own server"
)
sglang = _preset("sglang", "http://localhost:30000/v1", key="SGLANG_API_KEY", hosted=False, what="An SGLang server")
lmstudio = _preset("lmstudio", "http://localhost:1234/v1", key="LMSTUDIO_API_KEY", hosted=False, what="LM Studio")
litellm_proxy = _preset(
    "litellm-proxy", "http://localhost:4000/v1", key="LITELLM_API_KEY", hosted=False, what="A LiteLLM proxy"
)
openrouter = _preset(
    "openrouter", "https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY", hosted=True, what="OpenRouter"
)
groq = _preset("groq", "https://api.groq.com/openai/v1", key="GROQ_API_KEY", hosted=True, what="Groq")
together = _preset("together", "https://api.together.xyz/v1", key="TOGETHER_API_KEY", hosted=True, what="Together AI")
mistral = _preset("mistral", "https://api.mistral.ai/v1", key="MISTRAL_API_KEY", hosted=True, what="Mistral")
deepseek = _preset("deepseek", "https://api.deepseek.com/v1", key="DEEPSEEK_API_KEY", hosted=True, what="DeepSeek")
fireworks = _preset(
    "fireworks",
    "https://api.fireworks.ai/inference/v1",
    key="FIREWORKS_API_KEY",
    hosted=True,
    what="Fireworks AI",
)
xai = _preset("xai", "https://api.x.ai/v1", key="XAI_API_KEY", hosted=True, what="xAI")
