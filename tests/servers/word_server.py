"""A text-completion server whose model knows only the word before: right, or wrong in the ways real servers are.

right          `echo` with `logprobs`, each token with its own log-probability
off_by_one     each token of the prompt gets the log-probabilities of the place behind it
no_echo        writes as if `echo` had not been asked for
refuses_echo   answers `echo` with a 400
no_logprobs    sends none
begins         like `right`, with a token at the beginning that is not in the text, and places counted from it
no_places      like `right`, without `text_offset`
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

WORDS = [" red", " green", " blue", " one", " two", " Paris"]


def words_of(text: str) -> list[str]:
    return re.findall(r"\s?\S+|\s", text)


def logprob(before: str, word: str) -> float:
    """Log-probability of a word after another: the shares of the known words, and little for any other."""
    weights = {each: 1 + 40 * (sha256(f"{before}|{each}".encode()).digest()[0] / 255) ** 3 for each in WORDS}
    return math.log(weights.get(word, 0.001) / (sum(weights.values()) + 0.001))


def likeliest(before: str) -> str:
    return max(WORDS, key=lambda word: logprob(before, word))


class WordServer(ThreadingHTTPServer):
    """Keeps the prompts it was sent."""

    daemon_threads = True

    def __init__(self, behaviour: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.prompts: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


@contextmanager
def word_server(behaviour: str = "right") -> Iterator[WordServer]:
    server = WordServer(behaviour)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, WordServer)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.prompts.append(asked["prompt"])
        if self.server.behaviour == "refuses_echo" and asked.get("echo"):
            self._send(400, {"error": {"message": "echo is not supported"}})
        else:
            self._send(200, _answer(asked, self.server.behaviour))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *values: Any) -> None:
        pass


def _answer(asked: dict[str, Any], behaviour: str) -> dict[str, Any]:
    prompt = words_of(asked["prompt"])
    written: list[str] = []
    for _ in range(asked.get("max_tokens", 3)):
        written.append(likeliest([*prompt, *written][-1]))
    echo = bool(asked.get("echo")) and behaviour != "no_echo"
    shown = [*prompt, *written] if echo else written
    whole = [*prompt, *written]
    values: list[float | None] = [None, *(logprob(a, b) for a, b in pairwise(whole))]
    if behaviour == "off_by_one":
        values = [logprob(word, word) for word in prompt] + values[len(prompt) :]
    values = values[len(whole) - len(shown) :]
    begins = [sum(map(len, shown[:place])) for place in range(len(shown))]
    if behaviour == "begins" and echo:
        shown, values, begins = ["<s>", *shown], [None, *values], [0, *(begin + 3 for begin in begins)]
        values[1] = -9.0
    logprobs: dict[str, Any] | None = {"tokens": shown, "token_logprobs": values, "text_offset": begins}
    if behaviour == "no_places" and logprobs:
        del logprobs["text_offset"]
    if behaviour == "no_logprobs" or asked.get("logprobs") is None:
        logprobs = None
    return {
        "choices": [{"index": 0, "text": "".join(shown), "finish_reason": "length", "logprobs": logprobs}],
        "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(written)},
    }
