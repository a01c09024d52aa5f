"""Providers of one's own: an HTTP service, and Python."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.tasks.promptfoo.own_providers import http_model


class _Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"reply": [{"text": f"heard {body['q']['text']}"}]}).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_service_and_python_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server = HTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Path("own.py").write_text("def call_api(prompt, options, context):\n    return {'output': 'heard ' + prompt}\n")
    config = {
        "prompts": ['say "{{w}}"'],
        "providers": [
            {
                "id": "http",
                "label": "service",
                "config": {
                    "url": f"http://127.0.0.1:{server.server_port}/ask",
                    "body": {"q": {"text": "{{prompt}}"}},
                    "transformResponse": "json.reply[0].text",
                },
            },
            {"id": "file://own.py", "label": "own"},
        ],
        "tests": [{"vars": {"w": "日本"}, "assert": [{"type": "equals", "value": 'heard say "日本"'}]}],
    }
    Path("promptfooconfig.yaml").write_text(json.dumps(config))
    assert main(["run", "promptfooconfig.yaml", "--quiet", "--trust"]) == 0
    server.shutdown()
    server.server_close()
    records = [
        json.loads(line) for path in Path("runs").glob("*/journal.jsonl") for line in path.read_text().splitlines()
    ]
    assert [each["scores"][0]["values"]["score"] for each in records if "sample_id" in each] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "http://x/{{path}}", "body": {}}, "address is a template"),
        ({"url": "http://x/", "method": "GET"}, "POST"),
        ({"url": "http://x/", "body": {}, "headers": {"X-Key": "1"}}, "header `x-key`"),
        ({"url": "http://x/", "body": {"a": "{{other}}"}}, "more than `{{prompt}}`"),
        ({"url": "http://x/", "body": {}, "transformResponse": "json.a.map(f)"}, "more than a path"),
        ({"url": "http://x/", "body": {}, "session": 1}, "`session`"),
    ],
)
def test_what_cannot_be_asked_is_named(settings: dict[str, object], said: str) -> None:
    found, problem = http_model("http", settings)
    assert found is None
    assert said in problem
