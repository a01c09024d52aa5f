"""A file of a server, written to the disk as it comes: bounded, hashed on the way, and whole or not there at all.

A redirect is followed to wherever a public server may send a stranger: never from https to http, and never from a
public host to one of this machine or its network.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from assay.core.errors import FailureError, UsageError
from assay.event_loop import run_anywhere
from assay.run_file import writing_whole
from assay.transport.client import HttpClient
from assay.transport.connection import HttpAnswer
from assay.transport.route import shown_host

MAX_FILE_BYTES = 4 << 30
MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
TIMEOUT_SECONDS = 2 * 3600.0
STALL_SECONDS = 60.0
"""How long a server may say nothing."""


def download(
    url: str, path: Path, *, most: int = MAX_FILE_BYTES, on_bytes: Callable[[int], object] = lambda size: None
) -> str:
    """Write the file at an address to `path`, and answer its sha256; `UsageError` says what went wrong.

    `on_bytes` gets the size of each piece as it comes.
    """
    digest = hashlib.sha256()
    try:
        with writing_whole(path) as file:

            def keep(piece: bytes) -> None:
                digest.update(piece)
                file.write(piece)
                on_bytes(len(piece))

            run_anywhere(_fetch(url, keep, most))
    except FailureError as error:
        raise UsageError(f"the file could not be fetched: {error.failure.message}") from error
    return digest.hexdigest()


async def _fetch(url: str, keep: Callable[[bytes], object], most: int) -> None:
    client = HttpClient(part="download", max_body_bytes=most)
    try:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await client.get_file(url, keep, timeout_seconds=TIMEOUT_SECONDS, stall_seconds=STALL_SECONDS)
            if answer.status == 200:
                return
            if answer.status not in REDIRECTS:
                raise UsageError(_why_not(url, answer.status))
            url = _redirected(url, answer)
        raise UsageError(f"{shown_host(url)}: more than {MAX_REDIRECTS} redirects")
    finally:
        await client.aclose()


def _why_not(url: str, status: int) -> str:
    if status in (401, 403):
        return f"{shown_host(url)} requires a login for this file (it answered {status}); download it there yourself"
    return f"there is no file at this address: {shown_host(url)} answered {status}"


def _redirected(url: str, answer: HttpAnswer) -> str:
    target = urljoin(url, answer.headers.get("location", ""))
    before, after = urlsplit(url), urlsplit(target)
    if after.scheme not in ("http", "https") or (before.scheme == "https" and after.scheme != "https"):
        raise UsageError(f"{shown_host(url)}: redirects to {after.scheme or 'nowhere'}://…, which is not followed")
    if before.hostname != after.hostname and _is_local(after.hostname) and not _is_local(before.hostname):
        where = f"redirects to {shown_host(target)}, an address of this machine or its network"
        raise UsageError(f"{shown_host(url)}: {where}; not followed")
    return target


def _is_local(host: str | None) -> bool:
    """Whether any address of the host is one that is not for everybody."""
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False  # connecting reports what is wrong with it
    return any(not ip_address(address.partition("%")[0]).is_global for address in addresses)
