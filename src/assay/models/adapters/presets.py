"""Servers that speak the OpenAI protocol, by name; `providers.py` has their addresses and keys.

`ollama:MODEL` is `openai:MODEL` with another address; `vllm:MODEL@URL` names the server. Every option of `openai` works
here too.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

import msgspec

from assay.models.adapters.openai import OpenAIModel
from assay.models.adapters.providers import PROVIDERS, named_server


def _preset(word: str) -> Callable[..., OpenAIModel]:
    address, key, title, hosted, _ = PROVIDERS[word]
    # what a program that people run serves under a name is theirs to change
    can = msgspec.structs.replace(OpenAIModel.offers, cacheable=hosted)
    kind = type(f"{word.title()}Model", (OpenAIModel,), {"adapter": word, "usual_address": address, "offers": can})

    usual = {"api_key_env": key, "max_tokens_field": "max_tokens"}

    def make(model: str, *, base_url: str | None = None, **options: Any) -> OpenAIModel:
        name, chosen = named_server(word, model, base_url)
        required = hosted and chosen is None
        preset: OpenAIModel = kind(name, base_url=chosen, key_required=required, **{**usual, **options})
        return preset

    options = [
        parameter for parameter in signature(OpenAIModel).parameters.values() if parameter.name != "key_required"
    ]
    shown = [option.replace(default=usual.get(option.name, option.default)) for option in options]
    make.__signature__ = Signature(shown)  # type: ignore[attr-defined]  # options are checked against it
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
