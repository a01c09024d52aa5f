"""Receives the spans of programs behind a model: OTLP over HTTP on a port of this machine.

Each request to the model gets a trace of its own, whose id the program is handed as a W3C `traceparent`. The models of
one process that name the same port share its server. Spans of other traces are dropped, and so is what other programs
send to the port: a request that cannot be read fails an answer only if it contains the id of its trace.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Lock, Thread
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure
from assay.models.adapters.otlp_spans import redacted, spans_in
from assay.overriding import override
from assay.spans import Span, with_spans
from assay.text.redaction import cut_secrets

POLL_SECONDS = 0.25
SETTLED_POLLS = 4
"""A trace has settled when it has as many spans as in the polls before: exporters often send twice a second."""
MOST_POLLS = 6
MOST_POLLS_INCOMPLETE = 20
"""Spans are sent when they end, parents after their children: a trace without one of its parents is not complete."""
MAX_BODY_BYTES = 10 << 20
"""Of one request, and of the spans of one answer."""
MAX_SPANS = 10_000
_LONGEST_LINE = 1024
_PIECE = 4096
_TYPES = {"application/json": "json", "application/x-protobuf": "protobuf"}


@dataclass(slots=True)
class OpenTrace:
    """A trace that spans may arrive for."""

    id: str
    parent: str
    spans: list[Span] = field(default_factory=list)
    size: float = 0
    """How many bytes of requests the spans took."""
    problem: str | None = None
    """Why spans of it were not accepted."""

    @property
    def traceparent(self) -> str:
        return f"00-{self.id}-{self.parent}-01"

    def add(self, span: Span, size: float) -> None:
        self.size += size
        if len(self.spans) >= MAX_SPANS or self.size > MAX_BODY_BYTES:
            self.problem = f"an answer may have at most {MAX_SPANS:,} spans and {MAX_BODY_BYTES:,} bytes of them"
        else:
            self.spans.append(span)

    def is_named_in(self, content: bytes) -> bool:
        """Whether the id is there, as text, in base64 or as bytes."""
        raw = bytes.fromhex(self.id)
        return self.id.encode() in content.lower() or base64.b64encode(raw)[:20] in content or raw in content

    def lacks_a_parent(self) -> bool:
        spans = list(self.spans)
        known = {None, self.parent, *(span["spanId"] for span in spans)}
        return any(span.get("parentSpanId") not in known for span in spans)


class SpanReceiver:
    """What one model receives. The server starts with the first request."""

    def __init__(
        self,
        part: str,
        *,
        host: str = "127.0.0.1",
        port: int = 4318,
        formats: Sequence[str] = ("json", "protobuf"),
        redact: Sequence[str] = (),
        required: bool = True,
    ) -> None:
        """`required`: scores depend on the spans, so the run waits for them, and a port in use is a failure."""
        self._part = part
        self._address = (host, port)
        self._formats = tuple(formats)
        self._redact = redact
        self._required = required
        self._server: _Server | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"port": self._address[1], "redact": list(self._redact)}

    @contextmanager
    def trace(self) -> Iterator[OpenTrace]:
        """A trace for one request; it ends with the block."""
        trace = OpenTrace(secrets.token_hex(16), secrets.token_hex(8))
        server = self._server = self._server or self._shared_server()
        if server is not None:
            server.traces[trace.id] = trace
        try:
            yield trace
        finally:
            if server is not None:
                server.traces.pop(trace.id, None)

    def _shared_server(self) -> _Server | None:
        try:
            return _Server.shared(self._address, self._formats)
        except OSError as error:
            if not self._required:
                return None
            host, port = self._address
            message = (
                f"spans cannot be received on {host}:{port}: {error.strerror or error}; stop the program that "
                "uses the port, or choose another one as `tracing.otlp.http.port` and in the provider"
            )
            raise self._failure("unsupported", message) from error

    async def collected(self, trace: OpenTrace, completion: Completion) -> Completion:
        """The answer with the spans that arrived."""
        if self._required:
            await self._settled(trace)
            if trace.problem is not None:
                raise self._failure("bad_output", f"not all spans of the answer could be received: {trace.problem}")
        spans = [redacted(span, self._redact) for span in list(trace.spans)]
        return with_spans(completion, cut_secrets(spans), trace.id)

    async def _settled(self, trace: OpenTrace) -> None:
        requests = set() if self._server is None else self._server.requests
        counts = [len(trace.spans)]
        while len(counts) < (MOST_POLLS_INCOMPLETE if requests or trace.lacks_a_parent() else MOST_POLLS):
            await asyncio.sleep(POLL_SECONDS)
            counts.append(len(trace.spans))
            has_settled = counts[-1] > 0 and len(counts) >= SETTLED_POLLS and len(set(counts[-SETTLED_POLLS:])) == 1
            if has_settled and not requests and not trace.lacks_a_parent():
                return
        if any(named_trace is trace for request in list(requests) for named_trace in request.named_traces()):
            trace.problem = "a request was still being received"

    async def aclose(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.release)

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="model", part=self._part, kind=kind, message=message))


def span_receiver(part: str, options: Mapping[str, Any] | None) -> SpanReceiver | None:
    return None if options is None else SpanReceiver(part, **options)


class _Server(ThreadingHTTPServer):
    """The server of one port, with the traces that are open."""

    daemon_threads = True
    request_queue_size = 128  # beyond it, a connection is made only after a second
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], formats: Sequence[str]) -> None:
        if ":" in address[0]:
            self.address_family = AF_INET6
        super().__init__(address, _Handler)
        self.address = address
        self.formats = formats
        self.traces: dict[str, OpenTrace] = {}
        self.requests: set[_Handler] = set()
        """Those being received."""
        self.users = 0
        self._thread = Thread(target=self.serve_forever, name="otlp-receiver", daemon=True)
        self._thread.start()

    @classmethod
    def shared(cls, address: tuple[str, int], formats: Sequence[str]) -> _Server:
        with _lock:
            server = _servers.get(address) or cls(address, formats)
            _servers[address] = server
            server.users += 1
            return server

    def release(self) -> None:
        with _lock:
            self.users -= 1
            if self.users:
                return
            del _servers[self.address]
            self.shutdown()
            self.server_close()
            self._thread.join()

    @override
    def handle_error(self, *_: object) -> None:
        """A connection that breaks is no news; what it did not send is noted with the traces."""


_lock = Lock()
_servers: dict[tuple[str, int], _Server] = {}


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        if self.path.rstrip("/") != "/v1/traces":  # such as metrics and logs, which nothing depends on
            self._answer(404, {"error": "only /v1/traces is received"})
            return
        content_type = (self.headers.get("content-type") or "").partition(";")[0].strip().lower()
        format_ = _TYPES.get(content_type, "")
        self.content = bytearray()
        self.server.requests.add(self)
        try:
            self._receive()
            if format_ not in self.server.formats:
                raise ValueError(f"the content type {content_type or 'of nothing'} is not accepted")
            body = self._unpacked()
            spans = spans_in(body, format_)
        except (ValueError, OSError) as error:
            for trace in self.named_traces():
                trace.problem = str(error)
            self.server.requests.discard(self)
            self._answer(400 if format_ in self.server.formats else 415, {"error": str(error)})
        else:
            for trace_id, span in spans:
                opened = self.server.traces.get(trace_id)
                if opened is not None:
                    opened.add(span, len(body) / len(spans))
            self.server.requests.discard(self)
            self._answer(200, {"partialSuccess": {}}, empty=format_ == "protobuf")

    def named_traces(self) -> list[OpenTrace]:
        """The open traces whose ids are in what has been received: only their own programs know these."""
        content, _ = _unpack(bytes(self.content), self.headers.get("content-encoding"))
        return [trace for trace in list(self.server.traces.values()) if trace.is_named_in(content)]

    def _receive(self) -> None:
        """The content, by its length or in chunks; `ValueError` where it is too large."""
        if (self.headers.get("transfer-encoding") or "").lower() != "chunked":
            self._read(int(self.headers.get("content-length") or 0))
            return
        while size := int(self.rfile.readline(_LONGEST_LINE).partition(b";")[0], 16):
            self._read(size)
            self.rfile.readline(_LONGEST_LINE)
        while self.rfile.readline(_LONGEST_LINE).strip():
            pass

    def _read(self, size: int) -> None:
        end = len(self.content) + size
        while len(self.content) < min(end, MAX_BODY_BYTES):
            part = self.rfile.read1(min(end, MAX_BODY_BYTES) - len(self.content))
            if not part:
                raise ValueError("the request ends too early")
            self.content += part
        if size < 0 or end > MAX_BODY_BYTES:
            raise ValueError(f"a request may have at most {MAX_BODY_BYTES:,} bytes")

    def _unpacked(self) -> bytes:
        content, problem = _unpack(bytes(self.content), self.headers.get("content-encoding"))
        if problem is not None:
            raise ValueError(problem)
        return content

    def _answer(self, status: int, content: Mapping[str, Any], *, empty: bool = False) -> None:
        body = b"" if empty else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf" if empty else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True  # what is left of a refused body is not the next request

    @override
    def log_message(self, *_: object) -> None:
        pass


def _unpack(content: bytes, encoding: str | None) -> tuple[bytes, str | None]:
    """The content without its compression, as far as it can be read and up to the same size; and what is wrong."""
    if not encoding or encoding == "identity":
        return content, None
    if encoding != "gzip":
        return content, f"the content encoding {encoding} is not supported"
    unpacker, unpacked = zlib.decompressobj(16 + zlib.MAX_WBITS), bytearray()
    try:
        for at in range(0, len(content), _PIECE):  # an error leaves what was read before it
            unpacked += unpacker.decompress(content[at : at + _PIECE], MAX_BODY_BYTES + 1 - len(unpacked))
            if len(unpacked) > MAX_BODY_BYTES:
                return bytes(unpacked), "the request is too large"
    except zlib.error as error:
        return bytes(unpacked), str(error)
    return bytes(unpacked), None if unpacker.eof else "the request ends too early"
