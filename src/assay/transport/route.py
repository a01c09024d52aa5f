"""The way to a URL: which proxy the environment asks for, where to connect, and the head of every request."""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from assay.transport.content_coding import ACCEPTED

_DEFAULTS = {"User-Agent": "assay", "Accept": "*/*", "Accept-Encoding": ACCEPTED}
_SAFE = "!#$%&'()*+,/:;=?@[]~"
"""What may stand in a path or query as it is (RFC 3986); a `%` is taken to be of an escape already."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class ProxyError(Exception):
    """What is wrong with the proxy, or what it said."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Hop(NamedTuple):
    """A host to connect to, or to have a tunnel made to."""

    host: str
    port: int
    tls: bool


class Route(NamedTuple):
    """Worked out once for a URL and its headers."""

    hops: tuple[Hop, ...]
    """Where to connect; with a second one, where the first is to make a tunnel to."""
    head: bytes
    """Of every request, up to its body and the length of that."""
    proxy_headers: bytes = b""

    def request(self, body: bytes) -> bytes:
        return b"%sContent-Length: %d\r\n\r\n%s" % (self.head, len(body), body)

    def request_without_body(self) -> bytes:
        return self.head + b"\r\n"


def shown_host(url: str) -> str:
    """Host and port: enough to find the server, and nothing of a URL that could be secret."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the server"
    except ValueError:
        return "the server"


def route_to(url: str, headers: Mapping[str, str], method: str = "POST") -> Route:
    """`ValueError` where there is no way, `ProxyError` where it is the proxy's fault; both in words."""
    parts, end = _taken_apart(url)
    target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    sent = {**_DEFAULTS, **headers}
    if "@" in parts.netloc and "authorization" not in {name.lower() for name in headers}:
        sent["Authorization"] = basic_login(parts)
    proxy = _proxy_for(url, parts)
    if proxy is None:
        return Route((end,), _head(method, target, parts, sent, url))
    via, proxy_end = _taken_apart(proxy)
    credentials = {"Proxy-Authorization": basic_login(via)} if "@" in via.netloc else {}
    if end.tls:
        return Route((proxy_end, end), _head(method, target, parts, sent, url), _lines(credentials, url))
    whole = f"http://{_authority(parts)}{target}"
    return Route((proxy_end,), _head(method, whole, parts, {**sent, **credentials}, url))


def _taken_apart(url: str) -> tuple[SplitResult, Hop]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        _authority(parts)
    except ValueError as error:
        raise ValueError(f"`{shown_host(url)}` is not an address that can be called") from error
    if not host or parts.scheme not in ("http", "https"):
        raise ValueError(f"`{shown_host(url)}` is not an address that can be called")
    tls = parts.scheme == "https"
    return parts, Hop(host, port or (443 if tls else 80), tls)


def _authority(parts: SplitResult) -> str:
    name = parts.netloc.rpartition("@")[2]
    return name if name.isascii() else name.encode("idna").decode("ascii")


def basic_login(parts: SplitResult) -> str:
    """What the `Authorization` header says of the login in an address."""
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(login.encode()).decode()}"


def _head(method: str, target: str, parts: SplitResult, headers: Mapping[str, str], url: str) -> bytes:
    start = f"{method} {target} HTTP/1.1\r\nHost: {_authority(parts)}\r\n"
    return start.encode("ascii") + _lines(headers, url)


def _lines(headers: Mapping[str, str], url: str) -> bytes:
    by_name = {name.lower(): (name, value) for name, value in headers.items()}  # what the caller says comes last
    for name, value in by_name.values():
        if not _TOKEN.fullmatch(name) or any(end in value for end in "\r\n\0"):
            raise ValueError(f"{shown_host(url)}: a header cannot be sent: its name is no name, or it holds a line end")
    return "".join(f"{name}: {value}\r\n" for name, value in by_name.values()).encode("latin-1", "replace")


def _proxy_for(url: str, parts: SplitResult) -> str | None:
    """The proxy the environment asks for."""
    if sys.platform not in ("darwin", "win32") and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # elsewhere the system itself may name one; importing the below costs as much as 100 requests
    import urllib.request

    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    scheme = urlsplit(proxy).scheme
    if scheme not in ("http", "https"):
        raise ProxyError(
            f"the environment names a proxy for {shown_host(url)} whose scheme is `{scheme}`; "
            "only http:// and https:// proxies can be used"
        )
    return proxy
