"""Spans arrive over HTTP for the traces that are open, and for no others."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import socket
import urllib.error
import urllib.request
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Completion
from assay.models.adapters.otlp_receiver import MAX_BODY_BYTES, SpanReceiver
from assay.spans import trace_of


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def post(port: int, body: bytes, path: str = "/v1/traces", **headers: str) -> int:
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, sent)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def body_of(trace_id: str, name: str, parent: str | None = None, **attributes: str) -> bytes:
    given = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {
        "traceId": trace_id,
        "spanId": "b7ad6b7169203331",
        "name": name,
        "startTimeUnixNano": "1",
        "attributes": given,
        "parentSpanId": parent,
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def received(receiver: SpanReceiver, port: int, *bodies: Any, **headers: str) -> list[dict[str, Any]]:
    """The spans of an answer during which these bodies are sent; each is made from the id of the trace."""

    async def answer() -> Completion:
        try:
            with receiver.trace() as trace:
                for body in bodies:
                    assert await asyncio.to_thread(post, port, body(trace.id), **headers) == 200
                return await receiver.collected(trace, Completion(text="x"))
        finally:
            await receiver.aclose()

    trace = trace_of([asyncio.run(answer())])
    assert trace is not None
    spans: list[dict[str, Any]] = trace["spans"]
    return spans


def test_the_spans_of_a_trace_are_kept_with_its_answer() -> None:
    port = free_port()
    bodies = (
        lambda trace: body_of(trace, "mine"),
        lambda _: body_of("f" * 32, "of another trace"),
        lambda trace: body_of(trace, "too"),
    )
    assert [span["name"] for span in received(SpanReceiver("m", port=port), port, *bodies)] == ["mine", "too"]


def test_a_compressed_body_is_unpacked() -> None:
    port = free_port()
    spans = received(
        SpanReceiver("m", port=port), port, lambda trace: gzip.compress(body_of(trace, "x")), Content_Encoding="gzip"
    )
    assert len(spans) == 1


def test_an_answer_without_spans_has_an_empty_trace() -> None:
    port = free_port()
    assert received(SpanReceiver("m", port=port, required=False), port) == []


def test_keys_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdefghij")
    port = free_port()

    def body(trace: str) -> bytes:
        return body_of(trace, "x", header="Bearer sk-0123456789abcdefghij", password="p", other="o")

    (span,) = received(SpanReceiver("m", port=port, redact=["password"]), port, body)
    assert span["attributes"] == {
        "header": "Bearer [key]",
        "password": "[REDACTED]",
        "other": "o",
        "otel.span.kind": "unspecified",
        "otel.span.kind_code": 0,
    }


def test_what_cannot_be_received_is_refused() -> None:
    port = free_port()
    receiver = SpanReceiver("m", port=port, formats=["json"])

    async def statuses() -> list[int]:
        with receiver.trace():
            tried: list[tuple[bytes, str, dict[str, str]]] = [
                (b"{}", "/v1/logs", {}),
                (b"{}", "/v1/traces", {"Content_Type": "application/x-protobuf"}),
                (b"{}", "/v1/traces", {}),
                (gzip.compress(b" " * (MAX_BODY_BYTES + 1)), "/v1/traces", {"Content_Encoding": "gzip"}),
                (gzip.compress(body_of("f" * 32, "x"))[:-12], "/v1/traces", {"Content_Encoding": "gzip"}),
                (b"{}", "/v1/traces", {"Content_Encoding": "br"}),
            ]
            found = [await asyncio.to_thread(post, port, body, path, **headers) for body, path, headers in tried]
        await receiver.aclose()
        return found

    assert asyncio.run(statuses()) == [404, 415, 400, 400, 400, 400]


def test_two_models_share_a_port_which_is_free_again_after_both() -> None:
    port = free_port()

    async def both() -> None:
        first, second = SpanReceiver("a", port=port), SpanReceiver("b", port=port)
        with first.trace(), second.trace() as trace:
            await first.aclose()
            assert await asyncio.to_thread(post, port, body_of(trace.id, "x")) == 200
            completion = await second.collected(trace, Completion(text="x"))
        await second.aclose()
        assert len((trace_of([completion]) or {})["spans"]) == 1

    asyncio.run(both())
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_body_in_chunks_is_read() -> None:
    """As the exporter of OpenTelemetry for JavaScript sends it."""
    port = free_port()

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        with receiver.trace() as trace:
            body = body_of(trace.id, "x")
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:50], body[50:]))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = "POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            writer.write(head.encode() + chunks + b"0\r\n\r\n")
            assert (await reader.readline()).split()[1] == b"200"
            writer.close()
            await writer.wait_closed()
            completion = await receiver.collected(trace, Completion(text="x"))
        await receiver.aclose()
        return completion

    assert len((trace_of([asyncio.run(answer())]) or {})["spans"]) == 1


def test_spans_that_could_not_be_read_fail_the_answer() -> None:
    port = free_port()

    async def answer(*, required: bool) -> Completion:
        receiver = SpanReceiver("m", port=port, required=required)
        try:
            with receiver.trace() as trace:
                body = body_of(trace.id, "x")
                assert await asyncio.to_thread(post, port, body, Content_Type="text/plain") == 415
                return await receiver.collected(trace, Completion(text="x"))
        finally:
            await receiver.aclose()

    with pytest.raises(FailureError, match="could be received: the content type text/plain is not accepted"):
        asyncio.run(answer(required=True))
    assert asyncio.run(answer(required=False)).text == "x"


def test_a_port_in_use_is_a_failure_where_scores_need_the_spans() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(FailureError, match=f"spans cannot be received on 127.0.0.1:{port}.*tracing.otlp.http.port"):
            received(SpanReceiver("m", port=port), port)
        assert received(SpanReceiver("m", port=port, required=False), port) == []


def test_a_trace_is_not_complete_while_the_parent_of_a_span_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporters that send in batches send the last span, the parent of all, some time after the answer."""
    port, polls = free_port(), 0

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        with receiver.trace() as trace:

            async def poll(_: float) -> None:
                nonlocal polls
                polls += 1
                if polls == 8:
                    body = body_of(trace.id, "root", trace.parent).replace(b"b7ad6b7169203331", b"a" * 16)
                    assert await asyncio.to_thread(post, port, body) == 200

            assert await asyncio.to_thread(post, port, body_of(trace.id, "child", "a" * 16)) == 200
            monkeypatch.setattr("assay.models.adapters.otlp_receiver.asyncio.sleep", poll)
            completion = await receiver.collected(trace, Completion(text="x"))
        await receiver.aclose()
        return completion

    trace = trace_of([asyncio.run(answer())])
    assert trace is not None
    assert [span["name"] for span in trace["spans"]] == ["child", "root"]
    assert polls == 8


def until_a_request_is_received(receiver: SpanReceiver) -> None:
    assert receiver._server is not None
    while not any(request.content for request in list(receiver._server.requests)):
        pass


def test_a_request_that_is_being_received_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    port, polls = free_port(), 0

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        with receiver.trace() as trace:
            body = body_of(trace.id, "x")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}\r\n".encode() + body[:50])
            await asyncio.to_thread(until_a_request_is_received, receiver)

            async def poll(_: float) -> None:
                nonlocal polls
                polls += 1
                if polls == 8:
                    writer.write(body[50:])
                    assert b"200" in (await reader.read(1000)).partition(b"Content")[0]

            monkeypatch.setattr("assay.models.adapters.otlp_receiver.asyncio.sleep", poll)
            completion = await receiver.collected(trace, Completion(text="x"))
            writer.close()
            await writer.wait_closed()
        await receiver.aclose()
        return completion

    assert len((trace_of([asyncio.run(answer())]) or {})["spans"]) == 1


def test_the_wait_for_a_parent_that_never_arrives_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setattr("assay.models.adapters.otlp_receiver.POLL_SECONDS", 0)
    assert len(received(SpanReceiver("m", port=port), port, lambda trace: body_of(trace, "child", "a" * 16))) == 1


@pytest.mark.parametrize("names", [["x" * (4 << 20)] * 3, ["x"] * 10_001])
def test_an_answer_has_only_so_many_spans(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setattr("assay.models.adapters.otlp_receiver.POLL_SECONDS", 0)

    def body(trace: str, some: list[str]) -> bytes:
        spans = [json.loads(body_of(trace, name))["resourceSpans"][0] for name in some]
        return json.dumps({"resourceSpans": spans}).encode()

    sent = [names[:2], names[2:]] if len(names) == 3 else [names]
    bodies = [lambda trace, some=some: body(trace, some) for some in sent]
    with pytest.raises(FailureError, match="at most 10,000 spans and 10,485,760 bytes of them"):
        received(SpanReceiver("m", port=port), port, *bodies)


BROKEN_OFF = ["Content-Length: 500\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1f4\r\n"]


@pytest.mark.parametrize("head", BROKEN_OFF)
def test_a_connection_that_breaks_fails_the_answer_without_a_word(head: str, capfd: pytest.CaptureFixture[str]) -> None:
    port = free_port()

    def send(body: bytes) -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(
                f"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\n{head}".encode() + body[:100]
            )
            client.shutdown(socket.SHUT_WR)
            assert b"400" in client.recv(100)

    async def answer() -> None:
        receiver = SpanReceiver("m", port=port)
        try:
            with receiver.trace() as trace:
                await asyncio.to_thread(send, body_of(trace.id, "x"))
                await receiver.collected(trace, Completion(text="x"))
        finally:
            await receiver.aclose()

    with pytest.raises(FailureError, match="the request ends too early"):
        asyncio.run(answer())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {}, 400),
        (b"\xff\x00 rubbish", {"Content_Type": "application/x-protobuf"}, 400),
        (b"hello", {"Content_Type": "text/plain"}, 415),
        (b"not gzip", {"Content_Encoding": "gzip"}, 400),
        (body_of("f" * 32, "x").replace(b"spanId", b"noId"), {}, 400),
        (body_of("f" * 32, "x"), {}, 200),
    ],
)
def test_requests_of_other_programs_fail_no_answer(body: bytes, headers: dict[str, str], status: int) -> None:
    port = free_port()

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        try:
            with receiver.trace() as trace:
                assert await asyncio.to_thread(post, port, body, **headers) == status
                assert await asyncio.to_thread(post, port, body_of(trace.id, "mine")) == 200
                return await receiver.collected(trace, Completion(text="x"))
        finally:
            await receiver.aclose()

    assert len((trace_of([asyncio.run(answer())]) or {})["spans"]) == 1


@pytest.mark.parametrize("head", BROKEN_OFF)
@pytest.mark.parametrize("is_own", [True, False])
def test_only_an_own_request_that_does_not_end_fails_the_answer(
    head: str, is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setattr("assay.models.adapters.otlp_receiver.POLL_SECONDS", 0)

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        with receiver.trace() as trace:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            body = body_of(trace.id if is_own else "f" * 32, "x")[:100]
            writer.write(f"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\n{head}".encode() + body)
            await asyncio.to_thread(until_a_request_is_received, receiver)
            try:
                return await receiver.collected(trace, Completion(text="x"))
            finally:
                writer.close()
                await writer.wait_closed()
                await receiver.aclose()

    if is_own:
        with pytest.raises(FailureError, match="a request was still being received"):
            asyncio.run(answer())
    else:
        assert asyncio.run(answer()).text == "x"


@pytest.mark.parametrize("form", ["hex", "HEX", "bytes", "base64", "gzip"])
def test_an_own_request_is_known_by_the_id_of_its_trace(form: str) -> None:
    """Programs write it as the JSON and the protobuf of OTLP allow."""
    port = free_port()
    forms = {
        "hex": lambda id_: id_.encode(),
        "HEX": lambda id_: id_.upper().encode(),
        "bytes": bytes.fromhex,
        "base64": lambda id_: base64.b64encode(bytes.fromhex(id_)),
        "gzip": lambda id_: gzip.compress(id_.encode() * 3000)[:-4],
    }

    async def answer() -> Completion:
        receiver = SpanReceiver("m", port=port)
        encoding = {"Content_Encoding": "gzip"} if form == "gzip" else {}
        try:
            with receiver.trace() as trace:
                body = b"{" + forms[form](trace.id) if form != "gzip" else forms[form](trace.id)
                assert await asyncio.to_thread(post, port, body, **encoding) == 400
                return await receiver.collected(trace, Completion(text="x"))
        finally:
            await receiver.aclose()

    with pytest.raises(FailureError, match="not all spans of the answer could be received"):
        asyncio.run(answer())
