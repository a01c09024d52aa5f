"""Models of another shape: templates around a server, and the author's Python as a model; both in a YAML run."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.contracts.model import Exam, check_model
from tests.formats.declarative.reading import read_yaml_tasks
from tests.results.yaml_runs import EQUALS, write_task

from assay.cli.main import main
from assay.core.errors import FailureError
from assay.core.types import Completion, Message, Request
from assay.models.model_names import make_model
from assay.trust.consent import reaches

INPUT = '{"query": {{ input.messages[-1].content | tojson }}, "who": "{{ model_info.model_key }}"}'
OUTPUT = (
    "{% set answer = body | fromjson %}"
    '{"choices": [{"message": {"role": "assistant", "content": {{ answer.reply | tojson }}}, '
    '"references": [{"content": "chunk"}]}], "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 1}}'
)
ASKED = Request(messages=(Message(role="system", content="be brief"), Message(role="user", content='Say "hi"')))


class _Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        answer = json.dumps({"reply": body["query"].upper()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that speaks neither OpenAI's nor anybody's protocol."""
    _Handler.asked = []
    running = HTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/ask"
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answered(spec: str, options: dict[str, Any], request: Request = ASKED) -> Completion:
    async def ask() -> Completion:
        model = make_model(spec, options)
        try:
            return await model.generate(request)
        finally:
            await model.aclose()  # type: ignore[attr-defined]

    return asyncio.run(ask())


def test_templates_turn_a_chat_into_another_shape_and_back(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", "secret-of-mine")
    options = {"base_url": server, "process_input": INPUT, "process_output": OUTPUT, "api_key_env": "OWN_KEY"}
    found = answered("adapted:bot", options)
    assert (found.text, found.tokens_in, found.tokens_out) == ('SAY "HI"', 3, 1)
    assert found.raw == {"references": [{"content": "chunk"}]}
    assert _Handler.asked == [
        {"path": "/ask", "key": "Bearer secret-of-mine", "query": 'Say "hi"', "who": "bot"},
    ]


@pytest.mark.parametrize(
    ("templates", "kind", "says"),
    [
        ({"process_input": "{{ input.prompt }}", "process_output": OUTPUT}, "bad_request", "process_input: "),
        ({"process_input": "no JSON", "process_output": OUTPUT}, "bad_request", "must render to JSON"),
        ({"process_input": INPUT, "process_output": "{{ (body | fromjson).no }}"}, "bad_output", "process_output: "),
        ({"process_input": INPUT, "process_output": "{}"}, "bad_output", "not a chat completion"),
        ({"process_input": INPUT, "process_output": '{"choices": []}'}, "bad_output", "no choices"),
    ],
)
def test_a_template_that_fails_is_a_failure_of_the_model(
    server: str, templates: dict[str, str], kind: str, says: str
) -> None:
    with pytest.raises(FailureError) as caught:
        answered("adapted:bot", {"base_url": server, **templates})
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", kind)
    assert says in caught.value.failure.message


SNIPPET = """\
import json

def run_inference(body, environment):
    asked = json.loads(body)["messages"][-1]["content"]
    text = environment["greeting"] + environment["SECRET"][:2] + asked
    return json.dumps({"choices": [{"message": {"content": text}}]})
"""


def test_a_python_function_is_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "abcdef")
    options = {"run_inference_snippet": SNIPPET, "environment": {"greeting": "Hi ", "SECRET": "$MY_TOKEN"}}
    assert answered("custom_inference:mine", options).text == 'Hi abSay "hi"'
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(FailureError, match="the variable `MY_TOKEN` is not set"):
        answered("custom_inference:mine", options)


def test_what_a_python_function_raises_is_a_failure_of_the_model() -> None:
    with pytest.raises(FailureError) as caught:
        answered("custom_inference:x", {"run_inference_snippet": "def run_inference(body, environment):\n    1 / 0"})
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", "exception")
    assert "ZeroDivisionError" in caught.value.failure.message


COMPUTES = """\
import json

async def run_inference(body, environment):
    text = json.loads(body)["messages"][-1]["content"]
    if "break" in text:
        raise ValueError("told to break")
    total = sum(map(int, text.removeprefix("compute: ").split(" + ")))
    return json.dumps({"choices": [{"message": {"content": str(total)}}]})
"""


def test_it_keeps_the_contract_of_a_model(server: str) -> None:
    breaking = Request(prompt="break")
    inference = {"run_inference_snippet": COMPUTES}
    check_model(lambda: make_model("custom_inference:x", inference), Exam(lambda a, b: str(a + b), breaking))
    adapted = {"base_url": server, "process_input": INPUT, "process_output": OUTPUT}
    check_model(lambda: make_model("adapted:x", adapted), Exam(lambda a, b: f"COMPUTE: {a} + {b}"))


def run_file(config: dict[str, Any], **more: Any) -> Path:
    task = json.loads(write_task(Path(), [{"q": "yes", "a": "YES"}], [EQUALS]).read_text())
    Path("task.yaml").unlink()
    evaluation = {"key": "e", "display_name": "E", "task_specifications": [{"task_key": "t", "model_key": "m"}]}
    model = {"key": "m", "display_name": "M", "config": config}
    Path("run.yaml").write_text(json.dumps({"models": [model], "tasks": [task], "evaluation": evaluation, **more}))
    return Path("run.yaml")


ADAPTER = {
    "key": "own",
    "process_input": {"language": "jinja", "source_code": INPUT},
    "process_output": {"language": "jinja", "source_code": OUTPUT},
}


@pytest.mark.parametrize("where", ["run file", "folder", "inline"])
def test_a_run_file_with_an_adapter(server: str, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    reference = (
        {key: ADAPTER[key] for key in ("process_input", "process_output")} if where == "inline" else {"key": "own"}
    )
    if where == "folder":
        Path("model_adapters").mkdir()
        Path("model_adapters/own.yaml").write_text(json.dumps(ADAPTER))
    extra = {"model_adapters": [ADAPTER]} if where == "run file" else {}
    path = run_file({"url": server, "adapter": reference, "model_key": "bot"}, **extra)
    assert main(["run", str(path), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["score"] == 1.0
    assert _Handler.asked[0]["who"] == "bot"


def test_an_adapter_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = run_file({"url": "http://127.0.0.1:9/v1", "adapter": {"key": "my-own"}})
    assert main(["run", str(path)]) == 2
    assert "models[0].config.adapter.key: there is no adapter `my-own`" in capsys.readouterr().err


def test_the_adapter_that_changes_nothing_is_the_usual_server() -> None:
    config = {
        "url": "http://127.0.0.1:9/v1/chat/completions",
        "adapter": {"key": "latticeflow$identity_chat_completion"},
    }
    [definition] = read_yaml_tasks(run_file(config))
    assert definition.plan.model.model == "openai:m"


def test_a_run_file_with_a_python_function_as_model(capsys: pytest.CaptureFixture[str]) -> None:
    snippet = (
        "import json\n"
        "async def run_inference(body, environment):\n"
        "    text = json.loads(body)['messages'][-1]['content'].upper()\n"
        "    return json.dumps({'choices': [{'message': {'content': text}}]})\n"
    )
    path = run_file({"connection_type": "custom_inference", "run_inference_snippet": snippet, "timeout": 30})
    assert main(["run", str(path), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["score"] == 1.0


def test_both_kinds_are_listed_in_the_question_for_trust(server: str) -> None:
    config = {
        "connection_type": "custom_inference",
        "run_inference_snippet": SNIPPET,
        "environment": {"a": "$MY_TOKEN"},
    }
    [definition] = read_yaml_tasks(run_file(config))
    assert {(each.kind, each.what) for each in reaches(definition)} >= {
        ("code", "import json"),
        ("variable", "MY_TOKEN"),
    }
    [definition] = read_yaml_tasks(
        run_file({"url": server, "adapter": {"key": "own"}, "api_key": "$OPENAI_API_KEY"}, model_adapters=[ADAPTER])
    )
    assert {each.kind for each in reaches(definition)} >= {"address", "variable", "key"}
