"""OpenAI's Responses API, asked by name as a YAML project names it: a real server on the loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.results.yaml_runs import EQUALS, write_task

from assay.cli.main import main
from assay.core.types import Completion, Message, Request
from assay.models.adapters.openai_responses import RESPONSES_INPUT, RESPONSES_OUTPUT
from assay.models.model_names import make_model

SAYS = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": '東京 "ok"\n', "annotations": []}],
}
REFUSES = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
CALLS = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Bern"}'}
USAGE = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []
    answers: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **body})
        answer = json.dumps(self.answers).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[str]:
    """The base address of a server that speaks the Responses API."""
    _Handler.asked = []
    _Handler.answers = {"status": "completed", "output": [{"type": "reasoning", "summary": []}, SAYS], "usage": USAGE}
    running = HTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/v1"
    running.shutdown()
    running.server_close()


def ask(server: str, request: Request) -> Completion:
    options = {"process_input": RESPONSES_INPUT, "process_output": RESPONSES_OUTPUT}
    model = make_model("adapted:gpt-5", {"base_url": f"{server}/responses", **options})

    async def one() -> Completion:
        try:
            return await model.generate(request)
        finally:
            await model.aclose()

    return asyncio.run(one())


def test_a_chat_is_sent_and_answered(server: str) -> None:
    chat = (Message(role="system", content="be brief"), Message(role="user", content='Say "hi" <&>'))
    answer = ask(server, Request(messages=chat, temperature=0.5, max_tokens=9, seed=4))
    assert (answer.text, answer.finish_reason, answer.tokens_in, answer.tokens_out) == ('東京 "ok"\n', "stop", 11, 3)
    assert _Handler.asked == [
        {
            "path": "/v1/responses",
            "model": "gpt-5",
            "input": [{"role": "system", "content": "be brief"}, {"role": "user", "content": 'Say "hi" <&>'}],
            "temperature": 0.5,
            "max_output_tokens": 9,
            "seed": 4,
        }
    ]


def test_tools_calls_and_schemas_have_the_shape_of_this_protocol(server: str) -> None:
    _Handler.answers = {"status": "completed", "output": [CALLS]}
    call = {"id": "c0", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    chat = (
        Message(role="user", content="?"),
        Message(role="assistant", content="", tool_calls=[call]),
        Message(role="tool", content="sunny", tool_call_id="c0"),
    )
    schema = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}, "strict": True}}
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    answer = ask(server, Request(messages=chat, extra={"tools": [tool], "response_format": schema}))
    assert answer.tool_calls == [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": CALLS["arguments"]}}
    ]
    assert answer.finish_reason == "tool_calls"
    [asked] = _Handler.asked
    assert asked["input"][1:] == [
        {"type": "function_call", "call_id": "c0", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c0", "output": "sunny"},
    ]
    assert asked["tools"] == [{"type": "function", "name": "weather", "parameters": {"type": "object"}}]
    assert asked["text"] == {"format": {"type": "json_schema", **schema["json_schema"]}}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "completed", "output": [REFUSES]}, {"refusal": "no", "finish_reason": "stop"}),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [SAYS]},
            {"finish_reason": "length", "text": '東京 "ok"\n'},
        ),
    ],
)
def test_how_an_answer_ended(server: str, answer: dict[str, Any], expected: dict[str, Any]) -> None:
    _Handler.answers = answer
    given = ask(server, Request(prompt="?"))
    assert {
        "refusal": given.refusal,
        "finish_reason": given.finish_reason,
        "text": given.text,
    }.items() >= expected.items()


def test_a_yaml_project_names_the_adapter(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path, [{"q": "capital?", "a": '東京 "ok"\n'}], [EQUALS])
    connection = {"url": server, "model_key": "gpt-5", "adapter": {"key": "latticeflow$openai_responses"}}
    Path("run.yaml").write_text(
        json.dumps(
            {
                "models": [{"key": "m", "display_name": "M", "config": connection}],
                "tasks": [{"$ref": "task.yaml"}],
                "evaluation": {
                    "key": "e",
                    "display_name": "E",
                    "task_specifications": [{"task_key": "t", "model_key": "m"}],
                },
            }
        )
    )
    assert main(["validate", "run.yaml"]) == 0
    assert main(["run", "run.yaml", "--quiet", "--trust"]) == 0, capsys.readouterr().err
    assert [asked["path"] for asked in _Handler.asked] == ["/v1/responses"]
