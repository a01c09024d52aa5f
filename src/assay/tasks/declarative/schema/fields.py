"""The fields every table uses: keys, fixed words and texts."""

from __future__ import annotations

from typing import Any

from assay.tasks.declarative.shape import Field, Text

USER_KEY = Text(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-]+")
REFERENCED_KEY = Text(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-$]+")


def word(value: str) -> Field:
    return Field(Text(words=(value,)), doc=f"`{value}`", placeholder=False)


def text(doc: str = "", default: Any = ..., **limits: Any) -> Field:
    return Field(Text(**limits), doc=doc) if default is ... else Field(Text(**limits), default, doc)
