"""A grader and an embedding model on loopback: what it says follows from a word in its prompt."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERDICTS = {
    "GRADE-PASS-08": '{"reason": "fine", "pass": true, "score": 0.8}',
    "GRADE-FAIL": '{"reason": "bad", "pass": false, "score": 0.2}',
    "GRADE-NOSCORE": 'Sure: {"pass": true, "reason": "ok"}',
    "GRADE-STRING": '{"pass": "yes", "score": "0.6", "reason": "x"}',
    "GRADE-NOTHING": "no idea",
    "CLOSED-Y": "thinking...\nY",
    "CLOSED-N": "thinking\nN",
    "FACT-A": '{"category": "A", "reason": "r"}',
    "FACT-D": '{"category": "D", "reason": "r"}',
    "FACT-LEGACY": "(C) it is the same",
    "GEVAL": '{"score": 8, "reason": "good"}',
    "CHOICE-YES": "Reasons first.\nYes.",
    "CHOICE-NO": "No",
    "CHOICE-NONE": "perhaps",
}


def verdict(asked: str) -> str:
    word = next((each for each in VERDICTS if each in asked), None)
    is_about_steps = "steps" in asked and "Evaluation Steps" not in asked and "Take these steps" not in asked
    if word == "GEVAL" and is_about_steps:
        return '{"steps": ["one", "two", "three"]}'
    return VERDICTS[word] if word else '{"pass": true, "score": 1, "reason": "default"}'


def embedding(text: str) -> list[float]:
    found = [0.1, *[0.0] * 15]
    for word in text.lower().split():
        found[int(hashlib.md5(word.encode()).hexdigest(), 16) % 16] += 1
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        used = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        answer: dict[str, Any] = {"model": "m", "usage": used}
        if "embeddings" in self.path:
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            answer["data"] = [{"index": at, "embedding": embedding(text)} for at, text in enumerate(texts)]
        else:
            said = verdict(json.dumps(body["messages"]))
            message = {"role": "assistant", "content": said}
            answer["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def grader_server() -> Iterator[int]:
    """Its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
