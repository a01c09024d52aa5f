"""A model of a file or of a provider -> what `--model` and its options would say."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from assay.costs.prices import model_names
from assay.formats.declarative.code_shapes import parameters
from assay.formats.declarative.model_records import (
    IDENTITIES,
    RESPONSES,
    AdapterReference,
    CustomConnection,
    CustomInference,
    ModelEntry,
    NamedModel,
    ProvidedModel,
    ProviderConnection,
)
from assay.formats.declarative.records import Options, without_nulls
from assay.formats.declarative.yaml_reader import Document, FieldPath, hint_here
from assay.models.adapters.openai_responses import RESPONSES_INPUT, RESPONSES_OUTPUT
from assay.models.adapters.providers import NO_KEY, PROVIDERS, belongs_to, chosen_address
from assay.task_records import AskedModel, ModelTask

AdapterLookup = Callable[[Document, FieldPath, str], AdapterReference]
"""The adapter with a key, for the field that names it."""


OF_ANY_SHAPE = ("adapted", "custom_inference")
"""Adapters that render and read whatever their templates or their Python say."""
_WITHOUT_ROW = 2


class ModelSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How to make a model, and its rate limits."""

    model: str
    """As after `--model`."""
    options: Options
    requests_per_minute: int | None = None
    concurrency: int | None = None
    label: str | None = None
    """Its `display_name`, which tables show."""
    generation: Options = {}
    """How it answers, where neither a task nor the user says otherwise."""
    task: ModelTask = "chat_completion"
    """What it is: only a model file says so."""

    def plain(self) -> Options:
        made: Options = msgspec.to_builtins(self)
        return made

    def asked_as(self, key: str) -> AskedModel:
        """The model as one that is evaluated, under the key that names it."""
        return AskedModel(key=key, **msgspec.structs.asdict(self))

    def made(self) -> Options:
        """What the model is made of, for a judge or another model that a task calls."""
        made: Options = {"model": self.model, "options": self.options}
        return {**made, "generation": self.generation} if self.generation else made

    def pace(self) -> dict[str, int | str]:
        """Its label and rate limits, which are no part of a task."""
        pace = {
            "requests_per_minute": self.requests_per_minute,
            "concurrency": self.concurrency,
            "label": self.label,
        }
        return {name: limit for name, limit in pace.items() if limit is not None}


def model_spec(
    document: Document, where: FieldPath, model: ModelEntry | ProvidedModel, adapter_of: AdapterLookup
) -> tuple[str, ModelSpec]:
    """The key of a model, and what `--model` and its options would say."""
    if isinstance(model, ProvidedModel):
        key, provider, name = provider_key(model.provider)
        argument, options = provider_model(document, where, provider, name)
        return key, ModelSpec(model=argument, options=options)
    config, written, inside = model.config, None, (*where, "config")
    match config:
        case NamedModel():
            argument, options = config.model, dict(config.options)
        case ProviderConnection():
            argument, options = provider_model(document, inside, config.provider_id, config.model_key)
            written = config.api_key
        case CustomInference():
            argument = f"custom_inference:{config.model_key or model.key}"
            options = {
                "run_inference_snippet": config.run_inference_snippet,
                "timeout_seconds": config.timeout,
                **_templates(document, (*inside, "adapter"), config.adapter, adapter_of),
            }
            if config.environment:
                options["environment"] = dict(config.environment)
        case CustomConnection():
            templates = _templates(document, (*inside, "adapter"), config.adapter, adapter_of)
            argument = f"openai:{config.model_key or model.key}"
            options = {"base_url": config.url.removesuffix("/chat/completions").removesuffix("/embeddings")}
            if templates or model.task == "custom":
                argument = f"adapted:{config.model_key or model.key}"
                options = {"base_url": _address(config), **templates}
            written = config.api_key
            _refuse_unsent(document, inside, config)
    if variable := key_variable(document, (*inside, "api_key"), written):
        options["api_key_env"] = variable
    options |= _of_its_kind(document, where, model, argument)
    if model.cache is not None:
        options["cache"] = model.cache
        _refuse_shared_rows(document, where, model)
    keep_key_at_home(argument, options)
    return model.key, ModelSpec(
        model=argument,
        options=options,
        requests_per_minute=model.rate_limit,
        concurrency=model.max_concurrent_requests,
        label=model.display_name,
        generation=without_nulls(model.generation or {}),
        task=model.task,
    )


def _refuse_unsent(document: Document, where: FieldPath, config: CustomConnection) -> None:
    """What a server is to be sent, or asked with, and would not be."""
    if config.tls_context:
        message = "a connection has no TLS settings of its own here; SSL_CERT_FILE names your certificates"
        raise document.error((*where, "tls_context"), message)
    if config.custom_headers:
        message = "a connection sends no headers of its own here; a `custom_inference` sends what its Python says"
        raise document.error((*where, "custom_headers"), message)


def _of_its_kind(document: Document, where: FieldPath, model: ModelEntry, argument: str) -> Options:
    """The options that say that a model takes no chats: any JSON, or a text whose embedding is the answer."""
    adapter = argument.partition(":")[0]
    if model.task == "chat_completion":
        return {}
    if adapter in OF_ANY_SHAPE:
        return {"custom": True}
    if model.task == "embeddings" and adapter in PROVIDERS:
        return {"mode": "embeddings"}
    if isinstance(model.config, NamedModel) and adapter not in PROVIDERS and model.task == "custom":
        return {}  # the user's own, which is given the JSON as a text
    message = {
        "custom": "a provider's models take chats; a `custom` model has a `url` or a `run_inference_snippet`",
        "embeddings": f"`{argument}` is not on a server, and only models on servers answer with embeddings here",
    }
    raise document.error((*where, "task"), message[model.task])


def _refuse_shared_rows(document: Document, where: FieldPath, model: ModelEntry) -> None:
    """Cached answers are known by their requests, which a row that the author's Python reads is no part of."""
    config = model.config
    if not model.cache or not isinstance(config, CustomInference):
        return
    if len(parameters(config.run_inference_snippet, "run_inference")) > _WITHOUT_ROW:
        message = (
            "answers that depend on the row (`sample`) cannot be cached: the same request may come from another row"
        )
        raise document.error((*where, "cache"), message)


def provider_key(named: str) -> tuple[str, str, str]:
    """`openai/gpt-4.1-nano` -> (key, provider, model): the key has `-` for every `.`."""
    provider, _, name = named.partition("/")
    return f"{provider}${name.replace('.', '-').replace('/', '-')}", provider, name


def provider_model(document: Document, where: FieldPath, provider: str, name: str) -> tuple[str, Options]:
    """A model of a provider as after `--model`, with its options."""
    known = {word: each for word, each in PROVIDERS.items() if each.hosted}
    if provider not in known:
        raise document.error(where, f"unknown provider `{provider}`. {hint_here(provider, known)}")
    return _provided(provider, name)


def of_provider(key: str) -> ModelSpec | None:
    """The model of a key such as `openai$gpt-4-1-nano`, which names a provider that assay knows."""
    provider, dollar, dashed = key.partition("$")
    if not dollar or not dashed or provider not in PROVIDERS or not PROVIDERS[provider].hosted:
        return None
    argument, options = _provided(provider, _undashed(dashed))
    return ModelSpec(model=argument, options=options)


def _undashed(name: str) -> str:
    """A key has `-` for every `.`: where assay knows a model by that key, its name is the real one."""
    known = [model for model in model_names() if model.replace(".", "-") == name]
    return known[0] if len(known) == 1 else name


def _provided(provider: str, name: str) -> tuple[str, Options]:
    options: Options = {"api_key_env": PROVIDERS[provider].key}
    if provider != "openai":  # its adapter knows the address, which the user's OPENAI_BASE_URL may override
        options["base_url"] = PROVIDERS[provider].address
    return f"openai:{name}", options


def _templates(
    document: Document, where: FieldPath, adapter: AdapterReference | None, adapter_of: AdapterLookup
) -> Options:
    """The two templates of an adapter; none for the one that changes nothing."""
    if adapter is not None and adapter.key == RESPONSES:
        return {"process_input": RESPONSES_INPUT, "process_output": RESPONSES_OUTPUT}
    if adapter is not None and adapter.key is not None:
        adapter = None if adapter.key.startswith(IDENTITIES) else adapter_of(document, where, adapter.key)
    if adapter is None or adapter.process_input is None or adapter.process_output is None:
        return {}
    return {
        "process_input": adapter.process_input.source_code,
        "process_output": adapter.process_output.source_code,
    }


def _address(config: CustomConnection) -> str:
    """The URL of a server with another API: the file's own, or the path of the protocol that it speaks."""
    if config.adapter is None or config.adapter.key != RESPONSES or config.url.endswith("/responses"):
        return config.url
    return f"{config.url.rstrip('/')}/responses"


def key_variable(document: Document, where: FieldPath, written: str | None) -> str | None:
    """The variable that holds the key; a key written into a file is refused."""
    if not written:
        return None
    name = written.strip().removeprefix("$").strip("{}")
    if not written.strip().startswith("$") or not name.isidentifier():
        raise document.error(where, "a key is never written into a file: write `$NAME` and set that variable")
    return name


def keep_key_at_home(model: str, options: Options) -> None:
    """A file that chooses a host and no key does not get the key of the provider whose protocol it speaks."""
    adapter, _, argument = model.partition(":")
    address = chosen_address(argument, options)
    if address and adapter in PROVIDERS and not belongs_to(PROVIDERS[adapter].key, address):
        options.setdefault("api_key_env", NO_KEY)
