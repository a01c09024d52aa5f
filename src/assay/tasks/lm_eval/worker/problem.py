"""What a worker answers when it cannot do what it was asked for: one sentence for the user."""

from __future__ import annotations


class BridgeError(Exception):
    """Something that the user can do something about, in one sentence."""
