"""What a model file says that a model is decides how it is called: chats, any JSON, or embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from assay.cli.main import main

ECHO = (
    "import json\n\ndef run_inference(body, environment):\n"
    "    return json.dumps({'seen': json.loads(body), 'sum': sum(json.loads(body)['numbers'])})\n"
)


class _Server(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        answer = {"data": [{"embedding": [0.5, -1.0]}]} if self.path.endswith("/embeddings") else {"got": body}
        sent = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[str]:
    _Server.asked = []
    running = HTTPServer(("127.0.0.1", 0), _Server)
    Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def project(folder: Path, model: dict[str, Any], template: str, scorer: dict[str, Any], **task: Any) -> None:
    folder.joinpath("models").mkdir()
    folder.joinpath("models", "m.yaml").write_text(json.dumps({"key": "m", "display_name": "M", **model}))
    folder.joinpath("data.jsonl").write_text('{"q": "one", "n": [1, 2], "t": "3"}\n{"q": "two", "n": [5], "t": "5"}\n')
    definition = {
        "dataset": {"key": "data"},
        "solver": {"type": "single_turn_solver", "input_builder": {"type": "generic", "template": template}},
        "scorers": [scorer],
    }
    whole = {"key": "t", "display_name": "T", "description": "d", "definition": definition, **task}
    folder.joinpath("t.yaml").write_text(json.dumps(whole))


def score_of(folder: Path) -> tuple[float | None, list[dict[str, Any]]]:
    board = json.loads((folder / "run" / "leaderboard.json").read_text())
    lines = (folder / "run" / "journal.jsonl").read_text().splitlines()
    return board["tasks"][0]["score"], [json.loads(line) for line in lines if '"task"' in line]


def run(*more: str) -> int:
    return main(["run", "t.yaml", "--model", "m", "--run-dir", "run", "--quiet", *more])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


JSON_IN = '{"messages": "no chat", "model": "mine", "numbers": {{ sample.n | tojson }}}'
SUM = {
    "type": "string_equals",
    "ground_truth": "{{ sample.t }}",
    "value": "{{ (solver_output.output | fromjson).sum }}",
}


def test_a_custom_model_is_given_the_json_of_the_template_and_answers_with_any(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = {"connection_type": "custom_inference", "run_inference_snippet": ECHO}
    project(here, {"task": "custom", "config": code}, JSON_IN, SUM, tasks=["custom"])
    assert run() == 0
    score, records = score_of(here)
    assert score == 1.0
    assert json.loads(records[0]["trace"]["prediction"]) == {
        "seen": {"messages": "no chat", "model": "mine", "numbers": [1, 2]},
        "sum": 3,
    }
    assert "warning" not in capsys.readouterr().err
    assert main(["check", "t.yaml"]) == 0
    assert main(["show", "t.yaml", "--sample", "0"]) == 0
    assert '{"messages": "no chat", "model": "mine", "numbers": [1, 2]}' in capsys.readouterr().out
    assert main(["run", "t.yaml", "--model", "m", "--dry-run"]) == 0


def test_a_custom_model_on_a_server_is_sent_the_body_alone(here: Path, server: str) -> None:
    scorer = {"type": "contains", "value": "{{ sample.n[0] }}"}
    project(here, {"task": "custom", "config": {"url": f"{server}/predict"}}, JSON_IN, scorer, tasks=["custom"])
    assert run() == 0
    assert sorted(_Server.asked, key=str) == [
        ("/predict", {"messages": "no chat", "model": "mine", "numbers": numbers}) for numbers in ([1, 2], [5])
    ]
    assert score_of(here)[0] == 1.0


def test_adapters_of_custom_models_render_the_input_and_any_output(here: Path, server: str) -> None:
    adapter = {
        "process_input": {"source_code": '{"n": {{ input.numbers | tojson }}, "to": "{{ model_info.model_key }}"}'},
        "process_output": {"source_code": '{"sum": {{ (body | fromjson).got.n | sum }}}'},
    }
    model = {"task": "custom", "config": {"url": f"{server}/predict", "model_key": "k", "adapter": adapter}}
    project(here, model, JSON_IN, SUM, tasks=["custom"])
    assert run() == 0
    assert ("/predict", {"n": [1, 2], "to": "k"}) in _Server.asked
    assert score_of(here)[0] == 1.0


def test_an_embeddings_model_answers_with_its_numbers(here: Path, server: str) -> None:
    scorer = {"type": "string_equals", "ground_truth": "-1.0", "value": "{{ (solver_output.output | fromjson)[1] }}"}
    model = {"task": "embeddings", "config": {"url": f"{server}/v1", "model_key": "e"}}
    project(here, model, "{{ sample.q | tojson }}", scorer, tasks=["embeddings"])
    assert run() == 0
    assert sorted(_Server.asked, key=str) == [
        ("/v1/embeddings", {"model": "e", "input": text}) for text in ("one", "two")
    ]
    assert score_of(here)[0] == 1.0


@pytest.mark.parametrize(
    ("model", "task", "says"),
    [
        (
            "embeddings",
            [],
            "task `t` says no `tasks`, so it is for chats, and `m` is called as a model of the kind `embeddings`",
        ),
        ("embeddings", ["chat_completion"], "task `t` says `tasks: [chat_completion]`, and `m` is"),
        ("chat_completion", ["embeddings"], "task `t` says `tasks: [embeddings]`, and `m` is called as"),
        ("chat_completion", ["custom", "embeddings"], "`tasks: [custom, embeddings]`"),
        ("custom", ["custom", "chat_completion"], None),
        ("chat_completion", [], None),
    ],
)
def test_a_model_of_another_kind_than_the_task_is_for_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], model: str, task: list[str], says: str | None
) -> None:
    body = {"url": "http://127.0.0.1:9/v1", "model_key": "e"}
    template = '{"messages": [{"role": "user", "content": "x"}]}'
    project(here, {"task": model, "config": body}, template, {"type": "contains", "value": "1"}, tasks=task)
    assert main(["run", "t.yaml", "--model", "m", "--dry-run"]) == 0
    said = capsys.readouterr().err.replace("\n", " ")
    assert (says in said) if says else ("is called as" not in said)


def test_a_provider_has_no_custom_models(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"connection_type": "provider_connection", "provider_id": "openai", "model_key": "x"}
    project(here, {"task": "custom", "config": config}, JSON_IN, SUM)
    assert run() == 2
    assert "a provider's models take chats" in capsys.readouterr().err


def test_the_authors_model_may_read_the_row(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sample` is no part of the request, so no answer of another row may stand for it."""
    snippet = (
        "import json\n\ndef run_inference(body, environment, sample=None):\n"
        "    reply = {'role': 'assistant', 'content': sample['t']}\n"
        "    return json.dumps({'choices': [{'message': reply}]})\n"
    )
    code = {"connection_type": "custom_inference", "run_inference_snippet": snippet}
    same = '{"messages": [{"role": "user", "content": "x"}], "temperature": 0}'
    scorer = {"type": "string_equals", "ground_truth": "{{ sample.t }}"}
    project(here, {"config": code}, same, scorer)
    assert run() == 0
    assert score_of(here)[0] == 1.0
    cached = {"key": "m", "display_name": "M", "config": code, "cache": True}
    (here / "models" / "m.yaml").write_text(json.dumps(cached))
    assert main(["run", "t.yaml", "--model", "m", "--run-dir", "other"]) == 2
    assert "cache: answers that depend on the row" in capsys.readouterr().err


def test_a_chat_under_a_misspelt_name_is_not_sent_as_the_text_of_its_json(here: Path) -> None:
    code = {"connection_type": "assay", "model": "stub:3"}
    template = '{"mesages": [{"role": "user", "content": "x"}]}'
    project(here, {"config": code}, template, {"type": "contains", "value": "{{ sample.t }}"})
    assert run() == 3
    _, records = score_of(here)
    assert "a chat is under `messages`, and this one is under `mesages`" in records[0]["failures"][0]["message"]


def test_settings_have_no_place_in_the_json_of_a_custom_model(here: Path) -> None:
    code = {"connection_type": "custom_inference", "run_inference_snippet": ECHO}
    project(here, {"task": "custom", "config": code}, JSON_IN, SUM, tasks=["custom"])
    task = json.loads((here / "t.yaml").read_text())
    task["definition"]["solver"]["generation"] = {"temperature": 0}
    (here / "t.yaml").write_text(json.dumps(task))
    assert run() == 3
    _, records = score_of(here)
    assert "`generation` has no place in the JSON of a custom model" in records[0]["failures"][0]["message"]
