"""A fast fake of an OpenAI-compatible server, with scripted misbehaviour: one asyncio protocol, no dependencies.

What a prompt makes it do is written in the prompt's first line, so that tests need no set-up calls:

    compute: 2 + 3            answers `5` (the default answer function; any pure function of the prompt may replace it)
    behave: status 500 2      the first two requests with this prompt get a 500, the next one an answer
    behave: invalid_json      … see `_MISBEHAVIOURS`
    break                     always a 500

`/v1/embeddings` has the same scripts, and answers with how often each vowel occurs. Any other GET gets what `pages` has
for its path: plain data as JSON, bytes as HTML, `hang` no answer at all; without a page, a 404.

The last line of the prompt is what is answered. `GET /_seen` shows how often each prompt was served. Run it alone with
`python -m tests.servers.fake_openai --port 0`; it prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import operator
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def compute(prompt: str) -> str:
    """The result of a sum in the prompt (`compute: 2 + 3`), else the prompt's last line, unchanged."""
    last = prompt.rstrip().rpartition("\n")[2]
    found = re.search(r"compute:\s*(-?\d+)\s*([-+*])\s*(-?\d+)", last)
    if found:
        return str(_OPERATORS[found[2]](int(found[1]), int(found[3])))
    return last


class FakeServer:
    """What every connection shares: the answer function and how often each prompt was sent."""

    def __init__(self, answer: Callable[[str], str] = compute) -> None:
        self.answer = answer
        self.seen: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.keep_requests = False
        self.pages: dict[str, Any] = {}
        self.more: dict[str, Any] = {}
        self.loading = False
        """While it is, the server says nothing about itself."""
        """Further fields of each reply."""
        self.gets: list[str] = []
        """The heads of the GET requests."""
        self.trouble = 0.0
        """The share of requests that fail, each in another way."""
        self.rng = random.Random(0)
        self.open_connections: set[asyncio.Transport] = set()
        self.port = 0
        self._changed = asyncio.Event()

    def note(self) -> None:
        """Something happened that a test may be waiting for."""
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextlib.asynccontextmanager
async def fake_openai(answer: Callable[[str], str] = compute, port: int = 0) -> AsyncIterator[FakeServer]:
    """A server for as long as the block lasts; it keeps each request it gets, for tests to look at."""
    state = FakeServer(answer)
    state.keep_requests = True
    server = await listen(state, port)
    try:
        yield state
    finally:
        server.close()
        for transport in list(state.open_connections):
            transport.abort()
        await server.wait_closed()


async def listen(state: FakeServer, port: int = 0) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(state), "127.0.0.1", port, backlog=2048)
    state.port = server.sockets[0].getsockname()[1]
    return server


class _Connection(asyncio.Protocol):
    def __init__(self, state: FakeServer) -> None:
        self._state = state
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._state.open_connections.add(transport)
        self._state.note()

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.open_connections.discard(self._transport)
        self._state.note()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].decode("latin-1")
            length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
            size = int(length[1]) if length else 0
            if len(self._buffer) < end + 4 + size:
                return
            body = self._buffer[end + 4 : end + 4 + size]
            self._buffer = self._buffer[end + 4 + size :]
            self._request(head, body)

    def _request(self, head: str, body: bytes) -> None:
        if head.startswith("GET /_seen"):
            self.send(200, json.dumps(self._state.seen).encode())
            return
        if head.startswith("GET "):
            self._page(head)
            return
        asked = json.loads(body)
        chat = "messages" in asked
        embeds = "input" in asked
        prompt = asked["input"] if embeds else str(asked["messages"][-1]["content"]) if chat else asked["prompt"]
        self._state.seen[prompt] += 1
        self._state.note()
        if self._state.keep_requests:
            self._state.bodies.append(asked)
            self._state.headers.append(head)
        first = prompt.partition("\n")[0]
        if first.startswith("behave: "):
            name, *arguments = first.removeprefix("behave: ").split()
            misbehave = _MISBEHAVIOURS[name]
            if misbehave(self, self._state.seen[prompt], arguments, head):
                return
        if self._state.trouble and self._state.rng.random() < self._state.trouble:
            name, *arguments = self._state.rng.choice(TROUBLES).split()
            _MISBEHAVIOURS[name](self, 1, arguments, head)
            return
        if first == "break":
            self.send(500, b'{"error": {"message": "broken on request"}}')
            return
        self.send(200, embedded(asked) if embeds else self.reply(asked, self._state.answer(prompt), chat))

    def _page(self, head: str) -> None:
        self._state.gets.append(head)
        if self._state.loading:
            self.send(503, b'{"error": "loading"}')
            return
        page = self._state.pages.get(head.split()[1])
        if page == "hang":
            return
        if isinstance(page, bytes):
            self.send(200, page, content_type="text/html")
        else:
            self.send(404 if page is None else 200, json.dumps(page).encode())

    def reply(self, asked: dict[str, Any], text: str, chat: bool) -> bytes:
        choice = _chat_choice(asked, text) if chat else _text_choice(asked, text)
        whole = {
            "id": "fake-1",
            "object": "chat.completion" if chat else "text_completion",
            "created": 0,
            "model": asked["model"],
            "choices": [choice],
            "usage": {
                "prompt_tokens": 7,
                "completion_tokens": len(text.split()),
                "total_tokens": 7 + len(text.split()),
                "prompt_tokens_details": {"cached_tokens": 3},
            },
            **self._state.more,
        }
        return json.dumps(whole).encode()

    def send(self, status: int, body: bytes, *headers: str, content_type: str = "application/json") -> None:
        lines = [
            f"HTTP/1.1 {status} Status",
            f"Content-Length: {len(body)}",
            *([f"Content-Type: {content_type}"] if content_type else []),
            *headers,
        ]
        self._transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def send_message(self, message: dict[str, Any], finish_reason: str = "stop") -> None:
        choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
        self.send(200, json.dumps({"choices": [choice]}).encode())

    def send_bytes(self, data: bytes) -> None:
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, call)


def embedded(asked: dict[str, Any]) -> bytes:
    """The vowels of the text: a space of five meanings."""
    vector = [float(asked["input"].lower().count(vowel)) for vowel in "aeiou"]
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    usage = {"prompt_tokens": 4, "total_tokens": 4}
    return json.dumps({"object": "list", "data": data, "model": asked["model"], "usage": usage}).encode()


def _chat_choice(asked: dict[str, Any], text: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    if asked.get("logprobs"):
        top = [{"token": text, "logprob": -0.5}][: asked.get("top_logprobs", 0)]
        choice["logprobs"] = {"content": [{"token": text, "logprob": -0.5, "top_logprobs": top}]}
    return choice


def _text_choice(asked: dict[str, Any], text: str) -> dict[str, Any]:
    """Tokens are runs of letters with the space before them; each has log-probability -1, the first one none."""
    echoed = asked["prompt"] if asked.get("echo") else ""
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "text": echoed + text}
    if asked.get("logprobs") is not None:
        tokens = [token for part in (echoed, text) for token in re.findall(r"\s*\S+|\s+", part)]
        offsets = [sum(map(len, tokens[:position])) for position in range(len(tokens))]
        values = [None if asked.get("echo") and position == 0 else -1.0 for position in range(len(tokens))]
        top = [None if value is None else {token: value} for token, value in zip(tokens, values, strict=True)]
        choice["logprobs"] = {
            "tokens": tokens,
            "token_logprobs": values,
            "top_logprobs": top,
            "text_offset": offsets,
        }
    return choice


# A misbehaviour is called with (connection, how often this prompt was sent, arguments, request head) and says
# whether it has dealt with the request.


def _status(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    """`status CODE TIMES [HEADER=VALUE…]`: that status for the first TIMES requests, then the answer."""
    code, times, *headers = arguments
    if count > int(times):
        return False
    error = {"message": f"scripted {code}", "type": "scripted", "code": None}
    for pair in headers:
        name, _, value = pair.partition("=")
        if name in error:
            error[name] = value
    lines = [pair.replace("=", ": ", 1).replace("_", " ") for pair in headers if pair.partition("=")[0] not in error]
    connection.send(int(code), json.dumps({"error": error}).encode(), *lines)
    return True


def _echo_key(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    """A server that repeats the caller's key in its error."""
    key = re.search(r"(?i)\r\n(?:authorization: bearer|api-key:) *(\S+)", head)
    message = f"Incorrect API key provided:\x07 {key[1] if key else 'none'}\r\nX-Evil: 1"
    connection.send(int(arguments[0]), json.dumps({"error": {"message": message}}).encode())
    return True


def _slow(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.later(float(arguments[0]), lambda: connection.send_message({"content": "late"}))
    return True


def _cut(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send_bytes(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"choi')
    connection.close()
    return True


def _hang_up(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.close()
    return True


def _not_http(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send_bytes(b"220 mail.example ESMTP\r\n\r\n")
    connection.close()
    return True


def _huge(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    """`huge BYTES [chunked]`: a body of so many bytes."""
    size = int(arguments[0])
    if arguments[1:] == ["chunked"]:
        chunk = b"%x\r\n%s\r\n" % (65536, b" " * 65536)
        connection.send_bytes(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk * (size // 65536)
            + b"0\r\n\r\n"
        )
    else:
        connection.send(200, b" " * size)
    return True


def _redirect(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send(307, b"", "Location: http://elsewhere.example/v1/chat/completions")
    return True


def _body(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    """`body JSON`: exactly this body, with status 200."""
    connection.send(200, " ".join(arguments).encode())
    return True


def _message(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    """`message FINISH_REASON JSON`: a choice with this message."""
    connection.send_message(json.loads(" ".join(arguments[1:])), arguments[0])
    return True


def _wrong_type(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send(200, b"<html>Sign in to the wireless network</html>", content_type="text/html")
    return True


def _invalid_json(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send(200, b'{"choices": [{"message": {"content": "ha')
    return True


def _not_utf8(connection: _Connection, count: int, arguments: list[str], head: str) -> bool:
    connection.send(200, b'{"choices": [{"message": {"content": "\xff\xfe"}}]}')
    return True


_MISBEHAVIOURS: dict[str, Callable[[_Connection, int, list[str], str], bool]] = {
    "status": _status,
    "echo_key": _echo_key,
    "slow": _slow,
    "cut": _cut,
    "hang_up": _hang_up,
    "not_http": _not_http,
    "huge": _huge,
    "redirect": _redirect,
    "body": _body,
    "message": _message,
    "wrong_type": _wrong_type,
    "invalid_json": _invalid_json,
    "not_utf8": _not_utf8,
}


TROUBLES = (
    *["status 500 1"] * 8,
    *["status 503 1 Retry-After=0"] * 4,
    *["status 429 1 Retry-After=0"] * 8,
    *["hang_up", "cut", "not_http", "invalid_json", "not_utf8", "wrong_type"] * 3,
    "slow 30",
)
"""What `--trouble` chooses from: all but the last go away when asked again at once."""


async def _serve(port: int, trouble: float) -> None:
    state = FakeServer()
    state.trouble = trouble
    server = await listen(state, port)
    print(state.port, flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--trouble", type=float, default=0.0, help="share of requests that fail")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.port, options.trouble))


if __name__ == "__main__":
    main()
