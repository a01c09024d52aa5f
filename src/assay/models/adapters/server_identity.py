"""What a server that speaks the OpenAI protocol serves, as far as it says: `/v1/models`, and its own kind's endpoint.

| server | asked | strong | weak |
| --- | --- | --- | --- |
| any | `/v1/models` | – | root, parent, max_model_len, owned_by |
| Ollama | `/api/tags`, `/api/version` | digest | size, quantization, version |
| TGI | `/info` | revision (`model_sha`) | model, dtype, version |
| vLLM | `/version` | – | version |
| llama.cpp | `/props` | – | path, build, chat template; n_params and size from `/v1/models` |
| SGLang | `/get_model_info` | – | path, weight_version |
| LM Studio | `/api/v0/models` | – | publisher, quantization, format |

`created` in `/v1/models` is not used: many servers put the time of the answer there. Whatever a server answers instead,
it does not say. All requests go to the model's own address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from assay.core.errors import FailureError
from assay.core.seams import Served
from assay.models.adapters.http_model import endpoint
from assay.models.adapters.providers import is_hosted
from assay.text.printable import one_line

MOST_MODELS = 5
"""Names of models listed where none of them is the one that was named."""
LONGEST = 200

Ask = Callable[[str], Awaitable[Any]]
"""GETs an address: what the server says, or None; raises a `FailureError` where it cannot be reached."""


class _Kind(NamedTuple):
    """A kind of server: what it calls itself in `/v1/models`, and where else it says what it serves."""

    owner: str | None
    paths: tuple[str, ...]


_KINDS = {
    "ollama": _Kind("library", ("/api/tags", "/api/version")),
    "tgi": _Kind(None, ("/info",)),
    "vllm": _Kind("vllm", ("/version",)),
    "llamacpp": _Kind("llamacpp", ("/props",)),
    "sglang": _Kind("sglang", ("/get_model_info",)),
    "lmstudio": _Kind("organization_owner", ("/api/v0/models",)),
}


async def identify(fact_at: Ask, *, adapter: str, model: str, base_url: str) -> Served | None:
    """What the server at `base_url` says about `model`; None when it says nothing. Raises where it is down."""
    failures: list[FailureError] = []

    async def ask(url: str) -> Any:
        try:
            return await fact_at(url)
        except FailureError as error:
            failures.append(error)
            return None

    listed = _Listed(await ask(endpoint(base_url, "/models")), model)
    strong: dict[str, str] = {}
    weak = listed.signs()
    if not is_hosted(base_url):
        paths = _paths(adapter, listed.owner)
        root = base_url.removesuffix("/v1")
        for path, fact in zip(paths, await asyncio.gather(*(ask(endpoint(root, path)) for path in paths)), strict=True):
            if isinstance(fact, dict):
                more_strong, more_weak = _READERS[path](fact, model)
                strong |= _texts(more_strong)
                weak |= _texts(more_weak)
    if strong or weak:
        return Served(strong=strong, weak=weak)
    if failures:
        raise failures[0]
    return None


def _paths(adapter: str, owner: str | None) -> tuple[str, ...]:
    """Where else to ask: what the preset or the list of models names, else wherever a kind of server might answer."""
    if adapter in _KINDS:
        return _KINDS[adapter].paths
    for kind in _KINDS.values():
        if owner is not None and kind.owner == owner:
            return kind.paths
    return ("/info", "/api/tags", "/props", "/get_model_info")


class _Listed:
    """The entry of a model in the server's list; the only entry there is, under whatever name."""

    def __init__(self, reply: Any, model: str) -> None:
        data = reply.get("data") if isinstance(reply, dict) else None
        entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
        self._model = model
        self._names = [name for entry in entries if isinstance(name := entry.get("id"), str)]
        self._entry = next((entry for entry in entries if entry.get("id") == model), None)
        if self._entry is None and len(entries) == 1:
            self._entry = entries[0]

    @property
    def owner(self) -> str | None:
        owner = (self._entry or {}).get("owned_by")
        return owner if isinstance(owner, str) else None

    def signs(self) -> dict[str, str]:
        if self._entry is None:
            others = ", ".join(sorted(self._names)[:MOST_MODELS])
            return _texts({"models": others})
        listed_as = self._entry.get("id")
        meta = self._entry.get("meta")
        return _texts(
            {
                "listed as": None if listed_as == self._model else listed_as,
                **{name: self._entry.get(name) for name in ("root", "parent", "max_model_len", "owned_by")},
                **{name: meta.get(name) for name in ("n_params", "size", "ftype") if isinstance(meta, dict)},
            }
        )


_Signs = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Strong and weak ones."""


def _ollama_tags(fact: dict[str, Any], model: str) -> _Signs:
    listed = fact.get("models")
    names = (model, f"{model}:latest")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and (entry.get("name") in names or entry.get("model") in names):
            details = entry.get("details")
            quantization = details.get("quantization_level") if isinstance(details, dict) else None
            return {"digest": entry.get("digest")}, {"size": entry.get("size"), "quantization": quantization}
    return {}, {}


def _version(fact: dict[str, Any], model: str) -> _Signs:
    return {}, {"version": fact.get("version")}


def _tgi_info(fact: dict[str, Any], model: str) -> _Signs:
    if not isinstance(fact.get("model_id"), str):
        return {}, {}
    weak = {"model": fact["model_id"], "dtype": fact.get("model_dtype"), "version": fact.get("version")}
    return {"revision": fact.get("model_sha")}, weak


def _llamacpp_props(fact: dict[str, Any], model: str) -> _Signs:
    template = fact.get("chat_template")
    hashed = sha256(template.encode("utf-8", "replace")).hexdigest()[:16] if isinstance(template, str) else None
    return {}, {"path": fact.get("model_path"), "build": fact.get("build_info"), "chat template": hashed}


def _sglang_info(fact: dict[str, Any], model: str) -> _Signs:
    return {}, {"path": fact.get("model_path"), "weight_version": fact.get("weight_version")}


def _lmstudio_models(fact: dict[str, Any], model: str) -> _Signs:
    listed = fact.get("data")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model:
            names = {"publisher": "publisher", "quantization": "quantization", "format": "compatibility_type"}
            return {}, {name: entry.get(field) for name, field in names.items()}
    return {}, {}


_READERS: dict[str, Callable[[dict[str, Any], str], _Signs]] = {
    "/api/tags": _ollama_tags,
    "/api/version": _version,
    "/version": _version,
    "/info": _tgi_info,
    "/props": _llamacpp_props,
    "/get_model_info": _sglang_info,
    "/api/v0/models": _lmstudio_models,
}


def _texts(signs: Mapping[str, Any]) -> dict[str, str]:
    """The signs that are there, as short texts; anything but texts and numbers is no sign."""
    plain = {name: value for name, value in signs.items() if isinstance(value, str | int) and value != ""}
    return {name: one_line(str(value), LONGEST) for name, value in plain.items()}
