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
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.end_to_end.commands import environment


class Viewer:
    """Where it listens, its token, and how to ask it."""

    def __init__(self, link: str, process: subprocess.Popen[str]) -> None:
        self.link = link
        self.process = process
        self.port = int(urlsplit(link).port or 0)
        self.token = parse_qs(urlsplit(link).query)["token"][0]
        self.base = f"http://127.0.0.1:{self.port}/"

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, token: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request; header names are written with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if token:
                sent.setdefault("authorization", f"Bearer {self.token}")
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


@contextlib.contextmanager
def viewing(*roots: Path) -> Iterator[Viewer]:
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "view", *map(str, roots), "--no-browser", "--port", "0"],
        env=environment(),
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
