"""The viewer in a process of its own, and requests to it as a browser, or somebody else, would make them."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.end_to_end.commands import environment


class Viewer:
    """Where it listens, a link into it, and how to ask it."""

    def __init__(self, link: str, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.port = int(urlsplit(link).port or 0)
        self.base = f"http://127.0.0.1:{self.port}/"
        self.cookie = ""
        self.cookie = self.ask(target(link))[1]["set-cookie"].partition(";")[0]
        self.link = self.next_link(link)
        """One that no browser has opened yet."""

    def next_link(self, used: str) -> str:
        """What is printed when a link is opened a second time, by somebody else."""
        assert self.ask(target(used), cookie="")[0] == 403
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request; header names are written with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            sent.setdefault("cookie", self.cookie)
            if method == "POST":
                sent.setdefault("origin", self.base.rstrip("/"))
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, what: str, **params: Any) -> Any:
        status, _, body = self.ask(f"/api/{what}?{urlencode(params, doseq=True)}")
        assert status == 200, (status, body[:500])
        return json.loads(body)

    def mark(self, **mark: Any) -> Any:
        status, _, body = self.ask(
            "/api/marks", method="POST", body=json.dumps(mark).encode(), content_type="application/json"
        )
        assert status == 200, (status, body[:500])
        return json.loads(body)


def target(link: str) -> str:
    return f"/?{urlsplit(link).query}"


@contextlib.contextmanager
def viewing(*roots: Path, browser: str | None = None, folder: Path | None = None) -> Iterator[Viewer]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "assay", "view", *map(str, roots), "--port", "0"),
            *(["--no-browser"] if browser is None else []),
        ],
        env=environment(**({} if browser is None else {"BROWSER": browser})),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Viewer(process.stdout.readline().strip(), process)
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
