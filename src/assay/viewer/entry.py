"""Access: links that open the viewer once, and the session that they open.

A link can be read over a shoulder, from a browser's history or from a list of processes; so its token is worth nothing
once it was used, and a browser that we start ourselves is given none on its command line but a file that only its
owner can read.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

OPEN = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}"><title>assay view</title></head>
<body><a href="{link}">open the viewer</a></body></html>
"""


class SessionLinks:
    """The links of one viewer and its session."""

    def __init__(self, address: str, show: Callable[[str], None]) -> None:
        self.session = secrets.token_urlsafe(24)
        """The cookie of every browser that was let in by a link."""
        self._address = address
        self._show = show
        self._unused: set[str] = set()
        self._used: set[str] = set()
        self._shown = self._filed = ""
        self._folder: Path | None = None

    def show_link(self) -> None:
        """Show a link, unless the last one that was shown can still be used."""
        if self._shown not in self._unused:
            self._shown = self._new()
            self._show(self._link(self._shown))

    def file(self) -> Path:
        """A page with a link, for a browser of this user: no other user can read it."""
        self._folder = Path(tempfile.mkdtemp(prefix="assay-view-"))  # readable by its owner only
        path = self._folder / "open.html"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            self._filed = self._new()
            file.write(OPEN.format(link=self._link(self._filed)))
        return path

    def use(self, token: str) -> Literal["opened", "used", "unknown"]:
        """Accept a token; each works once."""
        if match := _same(token, self._unused):
            self._unused.remove(match)
            self._used.add(match)
            if match == self._filed:
                self.close()
            return "opened"
        return "used" if _same(token, self._used) else "unknown"

    def is_session(self, given: str) -> bool:
        return _same(given, {self.session}) is not None

    def close(self) -> None:
        """Delete the page with the link."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _new(self) -> str:
        token = secrets.token_urlsafe(24)
        self._unused.add(token)
        return token

    def _link(self, token: str) -> str:
        return f"{self._address}?token={token}"


def _same(given: str, known: set[str]) -> str | None:
    """The known token that equals the given one, compared in constant time."""
    matches = [token for token in known if hmac.compare_digest(given.encode(errors="replace"), token.encode())]
    return matches[0] if matches else None
