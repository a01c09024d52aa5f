"""Bad requests to the embedded server are answered with the reason."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from tests.models.embedded.serving import post

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")


def error_of(url: str, body: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(url, body)
    with caught.value as error:
        return error.code, json.load(error)["error"]


CHAT = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/completions", b'{"prompt', 400, "not JSON"),
        ("/v1/completions", {}, 400, "prompt"),
        ("/v1/completions", {"prompt": 3}, 400, "prompt"),
        ("/v1/completions", {"prompt": []}, 400, "empty list"),
        ("/v1/completions", {"prompt": [[1, "a"]]}, 400, "token numbers"),
        ("/v1/completions", {"prompt": [99999]}, 400, "outside 0 to 261"),
        ("/v1/completions", {"prompt": "a", "max_tokens": 0}, 400, "at least 1"),
        ("/v1/completions", {"prompt": "a", "max_tokens": -1, "echo": True}, 400, "at least 0"),
        ("/v1/completions", {"prompt": "a", "temperature": "hot"}, 400, "temperature"),
        ("/v1/completions", {"prompt": "a", "temperature": -1}, 400, "temperature"),
        ("/v1/completions", {"prompt": "a", "top_p": 0}, 400, "top_p"),
        ("/v1/completions", {"prompt": "a", "logprobs": 99}, 400, "between 0 and 20"),
        ("/v1/completions", {"prompt": "a", "logit_bias": {"3": 1}}, 400, "logit_bias"),
        ("/v1/completions", {"prompt": ["a"] * 300}, 400, "at most 256"),
        ("/v1/completions", {"prompt": "x" * 500}, 400, "context is 96"),
        ("/v1/completions", {"prompt": "a", "model": "gpt-9"}, 404, "unknown model `gpt-9`; available: `tiny`"),
        ("/v1/chat/completions", {"messages": []}, 400, "at least one message"),
        ("/v1/chat/completions", {**CHAT, "tools": [{"type": "function"}]}, 400, "no tools"),
        ("/v1/chat/completions", {**CHAT, "max_tokens": 0}, 400, "at least 1"),
        ("/v1/nowhere", {}, 404, "/v1/nowhere"),
        ("/health", {}, 405, "POST /health"),
    ],
)
def test_a_bad_request_is_answered_with_the_reason(address: str, path: str, body: Any, status: int, says: str) -> None:
    code, error = error_of(address + path, body)
    assert (code, error["type"]) == (status, "invalid_request_error")
    assert says in error["message"]
