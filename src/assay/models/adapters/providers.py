"""The servers that assay knows by name: the address of each one's OpenAI-compatible API, and the variable of its key.

A key variable belongs to its provider: `hosts_of` lists where the key may be sent when a file, and not the user, chose
the address. Plain data, so that readers of files can use it without importing an HTTP client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from assay.core.errors import UsageError


class Provider(NamedTuple):
    """One kind of server."""

    address: str
    key: str
    """The environment variable its key is read from."""
    title: str
    hosted: bool = True
    """A service with a fixed address; otherwise a program that people run wherever they like."""
    preset: bool = True
    """Whether `NAME:MODEL` is OpenAI's adapter with this address; otherwise it has an adapter of its own, or none."""


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "OpenAI", preset=False),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "Anthropic", preset=False),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "Gemini", preset=False
    ),
    "novita": Provider("https://api.novita.ai/v3/openai", "NOVITA_API_KEY", "Novita AI", preset=False),
    "sambanova": Provider("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", "SambaNova", preset=False),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OpenRouter"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", "Groq"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", "Together AI"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "Mistral"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "DeepSeek"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "Fireworks AI"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", "xAI"),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", "Ollama", hosted=False),
    "vllm": Provider("http://localhost:8000/v1", "VLLM_API_KEY", "A vLLM server", hosted=False),
    "llamacpp": Provider("http://localhost:8080/v1", "LLAMA_API_KEY", "llama.cpp's own server", hosted=False),
    "sglang": Provider("http://localhost:30000/v1", "SGLANG_API_KEY", "An SGLang server", hosted=False),
    "lmstudio": Provider("http://localhost:1234/v1", "LMSTUDIO_API_KEY", "LM Studio", hosted=False),
    "litellm-proxy": Provider("http://localhost:4000/v1", "LITELLM_API_KEY", "A LiteLLM proxy", hosted=False),
}

NO_KEY = "ASSAY_NO_KEY"
"""In place of a key's variable: no key is sent."""

_OTHER_KEYS = {
    "GOOGLE_API_KEY": "generativelanguage.googleapis.com",
    "HF_TOKEN": "huggingface.co",
    "HUGGING_FACE_HUB_TOKEN": "huggingface.co",
    "AZURE_OPENAI_API_KEY": "openai.azure.com",
}
"""Key variables that no adapter reads by default, and the domain each belongs to."""


def hosts_of(variable: str) -> frozenset[str]:
    """The hosts that a provider's key belongs to; empty for a variable that is not a provider's."""
    providers = [provider for provider in PROVIDERS.values() if provider.hosted and provider.key == variable]
    hosts = {urlsplit(provider.address).hostname or "" for provider in providers}
    return frozenset(hosts | ({_OTHER_KEYS[variable]} if variable in _OTHER_KEYS else set()))


def is_hosted(address: str) -> bool:
    """Whether an address is that of a hosted service, rather than of a program that users run."""
    host = urlsplit(address).hostname or ""
    return any(provider.hosted and urlsplit(provider.address).hostname == host for provider in PROVIDERS.values())


def is_run_by_users(address: str) -> bool:
    """Whether the address is on this machine or in a private network: what is served there changes at will."""
    host = (urlsplit(address).hostname or "").rstrip(".").lower()
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_NAMES)


_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".lan", ".home", ".home.arpa", ".intranet", ".corp", ".test")


def belongs_to(variable: str, address: str) -> bool:
    """Whether a key may be sent to an address: it is its provider's, or the variable belongs to no provider.

    An unencrypted address is no provider's: without encryption, anyone may answer for the host.
    """
    hosts = hosts_of(variable)
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return not hosts
    own = parts.scheme == "https" and any(host == each or host.endswith("." + each) for each in hosts)
    return not hosts or own


def chosen_address(argument: str, options: Mapping[str, Any]) -> str | None:
    """The address that a model's spec or options set instead of its provider's; None when they set none."""
    chosen = split_address(argument)[1] or options.get("base_url")
    return None if not chosen else str(chosen)


def named_server(adapter: str, model: str, base_url: str | None) -> tuple[str, str | None]:
    """The model's own name and the server chosen for it, which may be given in one place only."""
    name, at = split_address(model)
    if at is not None and base_url is not None:
        raise UsageError(f"`{adapter}:{name}@{at}` names one server and base_url another; give one of them")
    return name, at or base_url


def split_address(model: str) -> tuple[str, str | None]:
    """`MODEL@URL` in its two parts; a bare host gets `http://` and `/v1`. A model name may contain an `@`."""
    # an address may itself contain an `@`, such as after a password
    scheme = re.search(r"@(?=https?://)", model)
    name, address = (model[: scheme.start()], model[scheme.end() :]) if scheme else _before_host(model)
    if not name or not address:
        return model, None
    if "://" not in address:
        address = f"http://{address}"
    return name, address if address.count("/") > 2 else f"{address}/v1"


def _before_host(model: str) -> tuple[str, str]:
    name, _, address = model.rpartition("@")
    host, colon, port = address.partition("/")[0].rpartition(":")
    return (name, address) if colon and host and port.isdigit() else (model, "")
