"""One sample again: commands that a shell takes unchanged, that send the same request, and that hold no key."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import shlex
import shutil
import subprocess
import threading
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.models.adapters.test_tool_turns import VENDORS as STRICT
from tests.models.adapters.test_tool_turns import answered
from tests.models.adapters.vendors import with_keys
from tests.viewer.demo_runs import run_file

from assay.core.types import Message, Request
from assay.run_config import RunConfig
from assay.solvers.single_turn import reply
from assay.viewer.repeat import as_curl, run_only
from assay.viewer.samples import request_of

RUN = run_file("small", 4)
CLAUDE: dict[str, Any] = {"name": "m", "adapter": "anthropic", "model": "m"}
CHAT = {**CLAUDE, "adapter": "openai", "mode": "chat", "max_tokens_field": "max_completion_tokens", "extra": {"n": 1}}
ASKED: dict[str, Any] = {"prompt": 'It\'s $HOME `id` "here"\n\\', "max_tokens": 5, "temperature": 0.5, "stop": ["\n"]}


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("adapter", ["openai", "anthropic", "gemini"])
def test_curl_sends_the_same_request_with_the_key_of_the_environment(adapter: str) -> None:
    heard: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    class Hears(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            heard.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Not on the terminal."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hears) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        model = {**(CHAT if adapter == "openai" else CLAUDE), "adapter": adapter, "base_url": base}
        command = as_curl(replace(RUN, model=model), ASKED)
        assert command is not None
        keys = {"OPENAI_API_KEY": "a-key", "ANTHROPIC_API_KEY": "a-key", "GEMINI_API_KEY": "a-key"}
        subprocess.run(["sh", "-c", command], env={**os.environ, **keys}, check=True, capture_output=True, timeout=300)
        server.shutdown()
    [(path, headers, body)] = heard
    said = {"role": "user", "content": ASKED["prompt"]}
    if adapter == "openai":
        assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer a-key")
        assert body == {
            "model": "m",
            "messages": [said],
            "max_completion_tokens": 5,
            "temperature": 0.5,
            "stop": ["\n"],
            "n": 1,
        }
    elif adapter == "gemini":
        assert (path, headers["x-goog-api-key"]) == ("/v1/models/m:generateContent", "a-key")
        assert body == {
            "contents": [{"role": "user", "parts": [{"text": ASKED["prompt"]}]}],
            "generationConfig": {"temperature": 0.5, "maxOutputTokens": 5, "stopSequences": ["\n"]},
        }
    else:
        assert (path, headers["x-api-key"]) == ("/v1/messages", "a-key")
        assert body["messages"] == [said]
        assert body["stop_sequences"] == ["\n"]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("vendor", ["anthropic", "gemini", "openai"])
def test_curl_sends_images_and_tool_calls_in_the_format_of_each_server(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_keys(monkeypatch)
    serve, adapter = STRICT[vendor]

    async def converse() -> tuple[list[dict[str, Any]], str]:
        async with serve() as (address, bodies):
            model = adapter("m", base_url=address)
            messages = [Message(role="user", content=[{"type": "text", "text": "What is the weather?"}, IMAGE])]
            try:
                for _ in range(3):
                    answer = await model.generate(Request(messages=tuple(messages), max_tokens=9))
                    messages += [reply(answer), *answered(answer)]
            finally:
                await model.aclose()
            run = replace(RUN, model={"name": "m", **model.settings}, config=RunConfig(max_tokens=9))
            asked = request_of(run, {"trace": {"messages": msgspec.to_builtins(messages), "prediction": "Sunny."}})
            command = as_curl(run, asked)
            assert command is not None
            shell = await asyncio.create_subprocess_exec("sh", "-c", command, stdout=-1, stderr=-1)
            printed, _ = await shell.communicate()
            return bodies, printed.decode()

    bodies, printed = asyncio.run(converse())
    assert "Sunny everywhere." in printed
    assert bodies[-1] == bodies[-2]


def test_what_the_adapter_cannot_send_has_no_command() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    asked = {"messages": [{"role": "user", "content": [sound]}]}
    assert as_curl(replace(RUN, model={**CLAUDE, "base_url": "http://localhost"}), asked) is None
    calls = {"messages": [{"role": "assistant", "tool_calls": [{"id": "no function"}]}]}
    assert as_curl(replace(RUN, model={**CLAUDE, "base_url": "http://localhost"}), calls) is None


def test_the_key_is_a_variable_whatever_the_run_file_says() -> None:
    config = replace(RUN.config, model_options={"api_key_env": "MY_KEY"})
    hostile = replace(RUN.config, model_options={"api_key_env": 'X"; rm -rf ~; "'})
    model = {**CHAT, "base_url": "http://localhost/v1"}
    assert "Bearer $MY_KEY" in (as_curl(replace(RUN, model=model, config=config), ASKED) or "")
    assert "rm -rf" not in (as_curl(replace(RUN, model=model, config=hostile), ASKED) or "")


@pytest.mark.parametrize(
    "model",
    [
        {"name": "toy"},
        {**CHAT, "base_url": "file:///etc"},
        {**CLAUDE, "base_url": "http://localhost", "adapter": "litellm"},
    ],
)
def test_what_curl_cannot_ask_has_no_command(model: dict[str, Any]) -> None:
    assert as_curl(replace(RUN, model=model), ASKED) is None


def test_the_command_of_the_run_is_narrowed_to_the_sample() -> None:
    made = ["assay", "run", "tasks/", "--model", "m", "--run-dir", "runs/x", "--limit=5", "--only", "a", "--seed", "7"]
    expected = "assay run tasks/ --model m --seed 7 --only 'it'\"'\"'s 1'"
    assert run_only(replace(RUN, command=made), "it's 1") == expected
    assert run_only(replace(RUN, command=["python", "script.py"]), "x") is None


def test_of_several_models_only_the_run_s_own_is_called_again_and_no_id_is_taken_for_a_flag() -> None:
    run = replace(RUN, config=replace(RUN.config, model="b"), command=["assay", "run", "--model", "a", "--model=b"])
    assert run_only(run, "-1") == "assay run --model b --only=-1"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CHAT, {"reasoning_effort": "low", "max_completion_tokens": 5}),
        (
            CLAUDE,
            {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 5 + 2048, "system": "Be kind."},
        ),
    ],
)
def test_curl_asks_with_the_run_s_system_message_prefill_and_effort(
    model: dict[str, Any], expected: dict[str, Any]
) -> None:
    config = RunConfig(system="Be kind.", prefill="So:", reasoning_effort="low", max_tokens=5)
    run = replace(RUN, config=config, model={**model, "base_url": "http://localhost"})
    asked = request_of(run, {"trace": {"prompt": "1 + 1?", "prediction": "2"}})
    said = [("system", "Be kind."), ("user", "1 + 1?"), ("assistant", "So:")]
    assert [(each["role"], each["content"]) for each in asked["messages"]] == said
    body = json.loads(shlex.split(as_curl(run, asked) or "")[-1])
    assert expected.items() <= body.items()
    assert [each["role"] for each in body["messages"]][-2:] == ["user", "assistant"]


def test_a_request_of_a_strange_shape_is_shown_unchanged() -> None:
    run = replace(RUN, config=RunConfig(system="Be kind."))
    assert request_of(run, {"trace": {"messages": [{"role": 7}]}})["messages"] == [{"role": 7}]


def test_a_request_holds_no_file_name_that_only_the_record_keeps() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    document = {"type": "file", "file": {"file_id": "f1"}}
    content = ["What?", {**image, "file": "cats/1.png"}, document]
    asked = request_of(RUN, {"trace": {"messages": [{"role": "user", "content": content}], "prediction": "a cat"}})
    assert asked["messages"] == [{"role": "user", "content": ["What?", image, document]}]
