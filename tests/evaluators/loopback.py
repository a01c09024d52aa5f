"""A real HTTP server on the loopback interface that answers as its test says and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    body: bytes = b'{"score": 0.5}'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None
    """When set, the answer waits for it."""
    hang_up: bool = False
    """Whether the connection is closed instead."""


@dataclass
class Received:
    headers: dict[str, str]
    payload: Any


@dataclass
class Loopback:
    url: str
    received: list[Received]


@contextmanager
def serving(answer: Answer | Callable[[Any], Answer]) -> Iterator[Loopback]:
    """Serve one answer, or one made from each payload."""
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append(Received(headers=dict(self.headers), payload=payload))
            said = answer(payload) if callable(answer) else answer
            if said.hold is not None:
                said.hold.wait(timeout=30)
            if said.hang_up:
                self.close_connection = True
                return
            try:
                self.send_response(said.status)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)
            except OSError:
                pass  # the client gave up, which is what some tests are about

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Loopback(url=f"http://127.0.0.1:{server.server_port}/score", received=received)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
