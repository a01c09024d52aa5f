"""A server of files on loopback, for readers that fetch: what it holds, redirects, and what it was asked for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Files by path; a text is where a path redirects to."""

    address: str
    files: dict[str, bytes | str]
    asked: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every file."""


@contextlib.contextmanager
def file_server(files: Mapping[str, bytes | str]) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.asked.append(self.path)
            found = held.files.get(self.path)
            if isinstance(found, str):
                self._answer(302, {"Location": found}, b"")
            else:
                self._answer(200 if found is not None else 404, held.headers, found or b"")

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held = FileServer(f"http://127.0.0.1:{server.server_address[1]}", dict(files))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield held
        finally:
            server.shutdown()
            thread.join()
