"""The random numbers of one draw, for models that compute their answers here."""

from __future__ import annotations

import hashlib

from assay.core.fingerprint import canonical_json
from assay.core.types import Request


def seed_of_draw(request: Request) -> int:
    """A seed that differs from draw to draw, and does not depend on the order in which requests are computed."""
    draw = canonical_json((request.seed or 0, request.attempt, request.draw))
    return int.from_bytes(hashlib.blake2b(draw, digest_size=8).digest(), "big") >> 1
