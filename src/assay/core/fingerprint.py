"""Canonical JSON and its sha256: the identity of tasks, requests, samples and settings."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_canonical = msgspec.json.Encoder(order="sorted")


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8."""
    return _canonical.encode(value)


def fingerprint(value: Any) -> str:
    """The sha256 of a value's canonical JSON."""
    return hashlib.sha256(_canonical.encode(value)).hexdigest()


def short_fingerprint(value: Any) -> str:
    """Sixteen hex characters: enough to distinguish the attempts of one run, and short enough for every line."""
    return hashlib.blake2b(_canonical.encode(value), digest_size=8).hexdigest()
