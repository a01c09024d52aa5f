"""Names of tasks and paths against patterns: `support`, `geo/*`, `math/t0[0-3]`, `tasks/drafts/**`.

A pattern that matches a folder matches everything below it, so that `support` and `support/**` are the same.
"""

from __future__ import annotations

import re
from functools import lru_cache

_GLOB = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    return _GLOB.search(text) is not None


def matches(pattern: str, name: str) -> bool:
    """Whether a name, or a folder that it is in, matches."""
    return _compiled(pattern.strip("/")).fullmatch(name) is not None


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    text, place = "", 0
    while place < len(pattern):
        if pattern.startswith("**", place):
            text, place = text + ".*", place + 2
            continue
        letter = pattern[place]
        end = pattern.find("]", place + 2) if letter == "[" else -1
        if end > 0:
            inside = pattern[place + 1 : end].replace("\\", "\\\\")
            text += f"(?!/)[{'^' + inside[1:] if inside[0] == '!' else inside}]"
            place = end
        else:
            text += {"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter))
        place += 1
    return re.compile(f"{text}(?:/.*)?", re.DOTALL)
