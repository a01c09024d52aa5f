"""Servers that speak the OpenAI protocol, by name; `providers.py` says where they listen and which key they want.

`ollama:MODEL` is `openai:MODEL` with another address; `vllm:MODEL@URL` says where the server is. Every option of
`openai` works here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.models.adapters.openai import MaxTokensField, Mode, OpenAIModel
from assay.models.adapters.providers import PROVIDERS, split_address


def _preset(word: str) -> Callable[..., OpenAIModel]:
    address, key, what, hosted, _ = PROVIDERS[word]
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
            raise UsageError(f"`{word}:{model}` names one server and base_url another; give one of them")
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


ollama = _preset("ollama")
vllm = _preset("vllm")
llamacpp = _preset("llamacpp")
sglang = _preset("sglang")
lmstudio = _preset("lmstudio")
litellm_proxy = _preset("litellm-proxy")
openrouter = _preset("openrouter")
groq = _preset("groq")
together = _preset("together")
mistral = _preset("mistral")
deepseek = _preset("deepseek")
fireworks = _preset("fireworks")
xai = _preset("xai")
