"""The cases of test_real_servers.py, answered by aiohttp, uvicorn or `http.server`. Prints its port when it listens.

python -m tests.servers.cases NAME
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHUNKS = (b"one,", b"two")


def answer(path: str, body: bytes, method: str, content_type: str | None) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body; `/chunked` is up to the server."""
    if path == "/redirect":
        return 307, {"Location": "/echo"}, b""
    if path == "/nothing":
        return 204, {}, b""
    if path == "/close":
        return 200, {"Connection": "close"}, _echo(body, method, content_type)
    if path == "/headers":
        return 200, {f"X-{number}": "v" * 100 for number in range(100)}, _echo(body, method, content_type)
    if path == "/large":
        return 200, {}, b"x" * (2 << 20)
    if path == "/gzip":
        return 200, {"Content-Encoding": "gzip"}, gzip.compress(b"packed")
    return 200, {"Content-Type": "application/json"}, _echo(body, method, content_type)


def _echo(body: bytes, method: str, content_type: str | None) -> bytes:
    return json.dumps({"bytes": len(body), "method": method, "type": content_type}).encode()


def with_aiohttp() -> None:
    from aiohttp import web

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/early":
            return web.Response(status=413, body=b"{}", headers={"Connection": "close"})
        body = await request.read()
        if request.path == "/chunked":
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            for chunk in CHUNKS:
                await response.write(chunk)
            await response.write_eof()
            return response
        status, headers, content = answer(request.path, body, request.method, request.headers.get("Content-Type"))
        return web.Response(status=status, headers=headers, body=content)

    async def serve() -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{any:.*}", handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await runner.cleanup()

    asyncio.run(serve())


def with_uvicorn(implementation: str) -> None:
    import uvicorn

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        path, body, more = scope["path"], b"", True
        while more and path != "/early":
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if path == "/early":
            status, headers, content = 413, {"Connection": "close"}, b"{}"
        else:
            content_type = dict(scope["headers"]).get(b"content-type", b"").decode()
            status, headers, content = answer(path, body, scope["method"], content_type)
        chunks = CHUNKS if path == "/chunked" else (content,)
        if path not in ("/chunked", "/nothing"):
            headers["Content-Length"] = str(len(content))
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def serve() -> None:
        config = uvicorn.Config(app, host="127.0.0.1", port=0, http=implementation, lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        running = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - it has no event for it
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = server.force_exit = True
        await running

    asyncio.run(serve())


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, content = answer(self.path, body, self.command, self.headers.get("Content-Type"))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.path == "/chunked":
            content = b"".join(CHUNKS)  # HTTP/1.0: the end of the connection is the end of the answer
        elif self.path != "/nothing":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def with_http_server(version: str) -> None:
    _Handler.protocol_version = version
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


SERVERS = {
    "aiohttp": with_aiohttp,
    "uvicorn-h11": lambda: with_uvicorn("h11"),
    "uvicorn-httptools": lambda: with_uvicorn("httptools"),
    "http.server-1.0": lambda: with_http_server("HTTP/1.0"),
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]]()
