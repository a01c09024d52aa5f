"""promptfoo's providers mapped to assay's models; those without a counterpart are refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.bridges.promptfoo.config import FILE, Config, PlacedValue, program_of
from assay.bridges.promptfoo.tracing import span_name

_WORD = re.compile(r"[A-Za-z0-9_-]+")
_SAME = {
    "openai": "openai", "anthropic": "anthropic", "google": "gemini", "palm": "gemini", "ollama": "ollama",
    "openrouter": "openrouter", "groq": "groq", "togetherai": "together", "together": "together", "mistral": "mistral",
    "deepseek": "deepseek", "fireworks": "fireworks", "xai": "xai", "vllm": "vllm", "lmstudio": "lmstudio",
}  # fmt: skip
_LITELLM = {
    "bedrock": "bedrock", "vertex": "vertex_ai", "azure": "azure", "azureopenai": "azure", "cohere": "cohere",
    "replicate": "replicate", "perplexity": "perplexity", "cerebras": "cerebras", "huggingface": "huggingface",
    "databricks": "databricks", "watsonx": "watsonx", "sagemaker": "sagemaker_chat", "nvidia": "nvidia_nim",
    "github": "github", "hyperbolic": "hyperbolic", "moonshot": "moonshot", "minimax": "minimax", "novita": "novita",
    "litellm": "", "nscale": "nscale", "ai21": "ai21", "cloudflare-ai": "cloudflare", "aimlapi": "aiml",
    "vercel": "vercel_ai_gateway", "llama": "meta_llama", "helicone": "helicone", "docker": "docker_model_runner",
}  # fmt: skip
"""`litellm`'s names of providers for which assay has no adapter."""
_KINDS = {"chat", "completion", "messages", "responses", "converse", "embedding", "embeddings", "text-generation"}
_OTHERS = {
    "image", "realtime", "assistant", "agents", "codex-sdk", "codex-app-server", "chatkit", "moderation", "video",
    "transcription", "live", "claude-agent-sdk", "agent", "kb", "knowledge-base", "nova-sonic", "image-generation",
    "text-to-image", "sentence-similarity", "feature-extraction", "token-classification", "text-classification",
    "foundry-agent", "interactions", "speech", "tts", "computer-use", "imagen", "veo", "luma", "deep-research",
}  # fmt: skip
_NAMES = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_output_tokens", "max_completion_tokens", "maxTokens", "maxOutputTokens",
                   "max_new_tokens", "max_gen_len", "max_length", "num_predict"),
    "top_p": ("top_p", "topP"),
    "stop": ("stop", "stopSequences", "stop_sequences", "stop_strings"),
    "seed": ("seed",),
    "reasoning_effort": ("reasoning_effort",),
    "system": ("systemPrompt", "system_prompt", "systemInstruction", "instructions"),
}  # fmt: skip
_GENERATION = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_GROUPS = ("generationConfig", "inferenceConfig", "interfaceConfig", "parameters", "options")
_WITHOUT_PART = {
    "maxRetries", "timeout", "timeoutMs", "timeout_ms", "cost", "inputCost", "outputCost", "showThinking", "apiVersion",
    "organization", "projectId", "project", "apiKeyRequired", "stream", "inferenceModelType", "modelType", "label",
    "store", "user", "metadata", "omitDefaults",
}  # fmt: skip
"""Settings that change neither the request nor the answer."""
_SENT = {
    "tools", "tool_choice", "toolChoice", "functions", "function_call", "response_format", "presence_penalty",
    "frequency_penalty", "top_k", "topK", "logit_bias", "verbosity", "thinking", "reasoning", "passthrough",
    "modalities",
    "parallel_tool_calls", "service_tier", "search_domain_filter", "web_search_options", "return_citations",
    "safetySettings", "min_p", "repetition_penalty", "effort", "reasoning_format", "include_reasoning", "logprobs",
    "top_logprobs", "usage", "transforms", "route", "provider", "models", "audio", "search_recency_filter",
    "return_related_questions", "return_images", "search_mode", "safe_prompt", "random_seed", "prompt_mode",
    "search_parameters", "output_format", "additionalModelRequestFields", "reasoningConfig", "toolConfig",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "usage_tier", "search_after_date_filter",
    "search_before_date_filter", "tool_config", "include", "text", "max_tool_calls",
    "guardrailIdentifier", "guardrailVersion",
}  # fmt: skip
"""Parameters sent to the server unchanged."""


_IN_GENERATION_CONFIG = {
    "thinkingConfig", "responseSchema", "response_schema", "response_mime_type", "responseMimeType", "topK", "top_k",
    "candidateCount", "responseModalities", "response_modalities",
}  # fmt: skip


class MappedProvider(NamedTuple):
    """A provider and the model that it maps to."""

    key: str
    """Its label, or its id: its name on the leaderboard and in `--model-for`."""
    spec: dict[str, Any] | None
    """`model`, `options` and `generation`; None where there is no such model."""
    problem: str | None = None
    """Why there is none, with its place."""
    ids: tuple[str, ...] = ()
    """The names that tests use for it."""
    prompts: tuple[str, ...] | None = None
    """The labels of the prompts that it gets; None for all of them."""
    tools: tuple[dict[str, Any], ...] = ()
    transform: str | None = None
    value: PlacedValue | None = None
    span: str | None = None
    """The name of the span that promptfoo records for a request to it."""


_FIELDS = {"id", "label", "config", "prompts", "transform", "delay", "env", "inputs", "provider", "name"}


def read_providers(config: Config) -> list[MappedProvider]:
    """The providers or targets of the configuration, each under a key of its own."""
    section = config.top.get("providers" if config.top.content.get("providers") is not None else "targets")
    providers: list[MappedProvider] = []
    for value in section.items():
        for entry in _entries(config, value):
            provider = read_provider(config, entry)
            if provider is None:
                continue
            key, number = provider.key, 2
            while any(other.key == key for other in providers):
                key, number = f"{provider.key}-{number}", number + 1
            providers.append(provider._replace(key=key))
    return providers


def _entries(config: Config, value: PlacedValue) -> list[PlacedValue]:
    """One entry, or those of the file that it names."""
    named = value.content
    if isinstance(named, str) and named.startswith(FILE) and named.endswith((".yaml", ".yml", ".json")):
        loaded = config.loaded(value)
        return [] if loaded is None else loaded.items()
    return [value]


def read_provider(config: Config, value: PlacedValue, *, embeds: bool = False) -> MappedProvider | None:
    """One provider: its id, or a mapping with it; `{id: {…}}` is read too."""
    given = value.content
    if isinstance(given, str) and given.startswith(FILE) and given.endswith((".yaml", ".yml", ".json")):
        loaded = config.loaded(value)
        return None if loaded is None else read_provider(config, loaded, embeds=embeds)
    if isinstance(given, dict) and "id" not in given and len(given) == 1:
        name, inner = next(iter(given.items()))
        given = {"id": name, **(inner if isinstance(inner, dict) else {})}
        value = PlacedValue(given, value.document, (*value.where, name))
    if isinstance(given, str):
        given = {"id": given}
    if not isinstance(given, dict) or not isinstance(given.get("id"), str):
        config.refuse(value, "a provider is an id, such as `openai:gpt-4.1-mini`, or a mapping with `id`")
        return None
    for key in given.keys() - _FIELDS:
        config.refuse(value.get(key), f"`{key}` of a provider is not supported")
    name, label = str(given["id"]), given.get("label")
    settings: dict[str, Any] = dict(given["config"]) if isinstance(given.get("config"), dict) else {}
    provider = MappedProvider(
        key=str(label or name),
        spec=None,
        ids=tuple(str(item) for item in (label, name) if item),
        prompts=tuple(map(str, given["prompts"])) if isinstance(given.get("prompts"), list) else None,
        tools=_tools(config, value, settings),
        transform=str(given["transform"]) if given.get("transform") else None,
        value=value,
        span=span_name(name, settings),
    )
    return _mapped(config, provider, name, settings, embeds=embeds)


def _mapped(
    config: Config, provider: MappedProvider, name: str, settings: dict[str, Any], *, embeds: bool
) -> MappedProvider:
    spec, problem = _model(config, provider, name, settings, embeds=embeds)
    if spec is None:
        assert provider.value is not None  # noqa: S101 - `read_provider` made it
        sentence = provider.value.document.sentence(provider.value.where, f"provider `{name}`: {problem}")
        return provider._replace(
            problem=f"{sentence}; choose a model with --model, or --model-for '{provider.key}=NAME'"
        )
    return provider._replace(spec=spec)


def _model(
    config: Config, provider: MappedProvider, name: str, settings: dict[str, Any], *, embeds: bool
) -> tuple[dict[str, Any] | None, str]:
    """The model and its options, or why there is none."""
    word = name.partition(":")[0]
    if word == "echo":
        return {"model": "echo", "options": {}}, ""
    if name.startswith(("http://", "https://")) or word in ("http", "https"):
        from assay.bridges.promptfoo.own_providers import http_model

        spec, problem = http_model(name, settings)
        if spec is not None and not settings.get("method"):
            assert provider.value is not None  # noqa: S101 - `read_provider` made it
            config.warn(provider.value, f"provider `{name}`: {_NO_METHOD}")
        return spec, problem
    if word == "exec":
        return None, "a program is not supported as a provider"
    if word in ("python", "file") or program_of(name):
        from assay.bridges.promptfoo.own_providers import program_model

        assert provider.value is not None  # noqa: S101 - `read_provider` made it
        return program_model(config, provider.value, name, settings)
    return _served(name, settings, embeds=embeds)


_NO_METHOD = (
    "has a `body` and no `method`. It is called by POST, as promptfoo's documentation says, but promptfoo 0.122 itself "
    "sends GET without the body; add `method: POST` for the same requests"
)


def _served(name: str, settings: dict[str, Any], *, embeds: bool) -> tuple[dict[str, Any] | None, str]:
    """The model of a service that has a name of its own."""
    word, _, rest = name.partition(":")
    kind, model = _kind_and_model(rest)
    if kind in _OTHERS or not _WORD.match(model or ""):
        return None, f"there is no counterpart of `{word}:{kind or rest}`"
    model = settings.pop("model", None) or settings.pop("modelId", None) or model
    adapter = _adapter(word, str(model))
    if adapter is None:
        return None, "there is no counterpart here"
    spec, unknown = _with_settings(adapter, kind, settings)
    problem = ""
    if "apiKey" in unknown:
        problem = "a key does not belong in a file; write `apiKey: '{{env.NAME}}'` or `apiKeyEnvar: NAME`"
    elif unknown:
        problem = f"its config has `{unknown[0]}`, which has no counterpart here"
    elif embeds and adapter.partition(":")[0] in ("anthropic", "gemini", "litellm"):
        problem = "it has no embeddings here"
    return (None if problem else spec), problem


def _kind_and_model(rest: str) -> tuple[str, str]:
    kind, colon, model = rest.partition(":")
    if kind in _KINDS or kind in _OTHERS:
        return kind, model if colon else ""
    return "", rest


def _adapter(word: str, model: str) -> str | None:
    if word in _SAME:
        return f"{_SAME[word]}:{model}"
    if word in _LITELLM:
        return f"litellm:{_LITELLM[word]}/{model}" if _LITELLM[word] else f"litellm:{model}"
    return None


def generation_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The generation settings under assay's names, and the remaining settings."""
    generation: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    flat = {name: value for name, value in settings.items() if name not in _GROUPS or not isinstance(value, dict)}
    for group in _GROUPS:
        flat |= settings[group] if isinstance(settings.get(group), dict) else {}
    for name, value in flat.items():
        ours = _GENERATION.get(name)
        if ours == "stop":
            generation[ours] = [str(item) for item in (value if isinstance(value, list) else [value])]
        elif ours is not None and isinstance(value, bool | int | float | str):
            generation[ours] = value
        elif name == "reasoning" and isinstance(value, dict) and value.keys() <= {"effort", "summary"}:
            generation |= {"reasoning_effort": value["effort"]} if "effort" in value else {}
        elif value is not None:
            rest[name] = value
    return generation, rest


def _with_settings(adapter: str, kind: str, settings: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The model with its options, and the settings without a counterpart."""
    generation, rest = generation_settings(settings)
    options: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    unknown: list[str] = []
    word = adapter.partition(":")[0]
    if kind == "completion" and word in ("openai", "ollama", "vllm"):
        options["mode"] = "completions"
    if word == "gemini":  # sent to the server unchanged
        extra |= {name: rest.pop(name) for name in _IN_GENERATION_CONFIG & rest.keys()}
    for name, value in rest.items():
        if name in ("apiBaseUrl", "apiHost", "baseUrl", "base_url"):
            options |= _address(word, str(value), extra)
        elif name == "apiKeyEnvar":
            options["api_key_env"] = str(value)
        elif name == "apiKey" and (variable := re.fullmatch(r"\s*\{\{\s*env\.(\w+)\s*\}\}\s*", str(value))):
            options["api_key_env"] = variable[1]
        elif name == "region" and word == "litellm":
            extra["aws_region_name" if "/bedrock" in f"/{adapter[8:]}" else "vertex_location"] = value
        elif name == "passthrough" and isinstance(value, dict):
            extra |= value
        elif name in _SENT:
            extra[name] = value
        elif name not in _WITHOUT_PART:
            unknown.append(name)
    if extra:
        options["extra"] = extra
    if word == "litellm":
        unknown += [name for name in ("api_key_env",) if options.pop(name, None)]
    return {"model": adapter, "options": options, **({"generation": generation} if generation else {})}, unknown


def _address(word: str, value: str, extra: dict[str, Any]) -> dict[str, Any]:
    address = value if "://" in value else f"https://{value}"
    if word == "litellm":
        extra["api_base"] = address
        return {}
    return {"base_url": address}


def _tools(config: Config, value: PlacedValue, settings: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The tools of the config, those of the file that it names included."""
    tools = settings.get("tools")
    if isinstance(tools, str) and tools.startswith(FILE):
        loaded = config.loaded(PlacedValue(tools, value.document, value.where))
        tools = loaded.content if loaded is not None else None
        settings["tools"] = tools
    return tuple(tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
