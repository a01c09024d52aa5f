"""Servers that speak the OpenAI protocol, by name; `providers.py` has their addresses and keys.

`ollama:MODEL` is `openai:MODEL` with another address; `vllm:MODEL@URL` names the server. Every option of `openai` works
here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.models.adapters.openai import MaxTokensField, Mode, OpenAIModel
from assay.models.adapters.providers import PROVIDERS, named_server


def _preset(word: str) -> Callable[..., OpenAIModel]:
    address, key, title, hosted, _ = PROVIDERS[word]
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
        name, chosen = named_server(word, model, base_url)
        preset: OpenAIModel = kind(
            name,
            base_url=chosen or address,
            api_key_env=api_key_env,
            api_key_header=api_key_header,
            mode=mode,
            max_tokens_field=max_tokens_field,
            timeout_seconds=timeout_seconds,
            extra=extra,
            keep_raw=keep_raw,
            document_mark=document_mark,
            check_likelihoods=check_likelihoods,
            key_required=hosted and chosen is None,
        )
        return preset

    make.__doc__ = f"""{title}: `{word}:MODEL`, or `{word}:MODEL@URL` for another address than {address}.

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
