"""The section `tracing`: which spans of an answer are kept, and where the programs behind providers send theirs."""

from __future__ import annotations

from typing import Any, NamedTuple

from assay.bridges.promptfoo.config import Config, program_of

_FIELDS = {"enabled", "otlp", "storage", "forwarding", "commandToolNames", "failOnReceiverStartFailure"}
_OF_HTTP = {"enabled", "port", "host", "acceptFormats", "redactAttributes"}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::")  # noqa: S104 - it is replaced
_PORT = 4318
_FORMATS = ("json", "protobuf")
HINT = "add `tracing: {enabled: true, otlp: {http: {enabled: true}}}` to the configuration"
_UNTRACED = {"echo", "python", "file", "google", "palm", "exec"}
"""promptfoo's providers without a span of their own."""
_COMPLETIONS = {"ollama", "huggingface"}
"""Providers whose span is a `completion` unless they chat."""


class Tracing(NamedTuple):
    """Whether requests are traced, and how."""

    enabled: bool = False
    receiver: dict[str, Any] | None = None
    """Where spans are received; None where the configuration opens no port for them."""
    command_tools: tuple[str, ...] = ()


def read_tracing(config: Config) -> Tracing:
    """The section; enabled by itself, or by the metadata of the default test."""
    section, default = config.top.get("tracing"), config.top.get("defaultTest").get("metadata").get("tracingEnabled")
    if section.content is None:
        return Tracing(enabled=default.content is True)
    if not config.known(section, _FIELDS, "tracing"):
        return Tracing()
    if section.content.get("enabled") is not True and default.content is not True:
        return Tracing()
    tools = section.content.get("commandToolNames") or []
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        config.refuse(section.get("commandToolNames"), "the names of tools must be a list of texts")
        tools = []
    return Tracing(True, _receiver(config), tuple(tools))


def _receiver(config: Config) -> dict[str, Any] | None:
    value = config.top.get("tracing").get("otlp").get("http")
    if not isinstance(value.content, dict) or value.content.get("enabled") is not True:
        return None
    config.known(value, _OF_HTTP, "tracing.otlp.http")
    given = value.content
    host, port = given.get("host") or _LOOPBACK[0], given.get("port") or _PORT
    if host in _ANY:
        config.warn(value.get("host"), f"spans are received from this machine only, on {_LOOPBACK[0]}")
        host = _LOOPBACK[0]
    elif host not in _LOOPBACK:
        config.refuse(value.get("host"), f"spans are received on this machine only ({', '.join(_LOOPBACK)})")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
        config.refuse(value.get("port"), f"a port is a number from 1 to 65535, got {port!r}")
    formats = [each for each in given.get("acceptFormats") or () if each in _FORMATS]
    redacted = [str(each) for each in given.get("redactAttributes") or ()]
    return {"host": host, "port": port, "formats": formats or list(_FORMATS), "redact": redacted}


def span_name(provider: str, settings: dict[str, Any]) -> str | None:
    """The name of the span in which promptfoo wraps a request to this provider; None for those without one."""
    word, _, rest = provider.partition(":")
    kind, _, model = rest.partition(":")
    if provider.startswith(("http://", "https://")) or word in ("http", "https"):
        return f"chat {settings.get('url') or provider}"
    if (
        word in _UNTRACED
        or program_of(provider)
        or (word == "bedrock" and kind != "converse")
        or (word, kind) == ("openai", "completion")
    ):
        return None
    named = model if kind in _KINDS and model else rest
    operation = "completion" if word in _COMPLETIONS and kind != "chat" else "chat"
    return f"{operation} {settings.get('model') or settings.get('modelId') or named}"


_KINDS = {"chat", "completion", "messages", "responses", "converse", "text-generation"}
