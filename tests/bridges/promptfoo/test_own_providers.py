"""Providers of one's own: an HTTP service, Python and JavaScript."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.bridges.promptfoo.own_providers import http_model
from assay.cli.main import main


class _Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"reply": [{"text": f"heard {body['q']['text']}"}]}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("method", [{}, {"method": "POST"}])
def test_a_service_and_python_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: dict[str, str]
) -> None:
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
                    **method,
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
    assert ("promptfoo 0.122 itself sends GET" in capsys.readouterr().err) is (not method)
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
        ({"url": "http://x/", "body": '{"q": "{{prompt}}"}'}, "sends as a form"),
    ],
)
def test_what_cannot_be_called_is_named(settings: dict[str, object], said: str) -> None:
    found, problem = http_model("http", settings)
    assert found is None
    assert said in problem


JAVASCRIPT = """
export default class {
  constructor(options) { this.options = options; console.log('noise'); }
  async callApi(prompt, context) {
    if (prompt === 'end') process.exit(1);
    if (prompt === 'raise') throw new TypeError('no');
    if (prompt === 'error') return { error: 'refused' };
    return { output: { said: prompt, tone: this.options.config.tone, traced: 'traceparent' in context },
             metadata: { skillCalls: [{ name: 's' }] }, finishReason: 'stop',
             tokenUsage: { prompt: 2, completion: 3 } };
  }
}
"""


def answers(*words: str) -> list[dict[str, Any]]:
    """The records of a run in which the providers of the configuration answer these prompts."""
    main(["run", "promptfooconfig.yaml", "--quiet", "--trust", "--run-dir", "run"])
    records = [json.loads(line) for line in Path("run", "journal.jsonl").read_text().splitlines()]
    by_id = {each["sample_id"]: each for each in records if "sample_id" in each}
    return [by_id[name] for name in ("1", *(f"1-{number}" for number in range(2, len(words) + 1)))]


def write(provider: str, *words: str) -> None:
    config = {
        "prompts": ["{{w}}"],
        "providers": [{"id": provider, "config": {"tone": "soft"}}],
        "tests": [{"vars": {"w": list(words)}, "assert": [{"type": "skill-used", "value": "s"}]}],
    }
    Path("promptfooconfig.yaml").write_text(json.dumps(config))


@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs node")
def test_a_class_in_javascript_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.mjs").write_text(JAVASCRIPT)
    words = ("日本", "raise", "error", "b", "c")
    write("file://own.mjs", *words)
    first, raised, refused, *others = answers(*words)
    completion = first["trace"]["completions"][0]
    assert json.loads(completion["text"]) == {"said": "日本", "tone": "soft", "traced": False}
    assert (completion["tokens_in"], completion["tokens_out"], completion["finish_reason"]) == (2, 3, "stop")
    assert first["scores"][0]["values"]["score"] == 1.0
    assert "TypeError: no" in raised["failures"][0]["message"]
    assert "refused" in refused["failures"][0]["message"]
    assert all(each["scores"][0]["values"]["score"] == 1.0 for each in others)


@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs node")
def test_javascript_that_ends_its_process_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.mjs").write_text(JAVASCRIPT)
    write("own.mjs", "end")
    assert "node ended by itself" in answers("end")[0]["failures"][0]["message"]


def test_programs_of_a_stranger_need_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "theirs")
    Path("own.mjs").write_text("import { writeFileSync } from 'node:fs'; writeFileSync('ran', '');")
    write("file://own.mjs", "a")
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["run", "../theirs/promptfooconfig.yaml", "--quiet"]) == 2
    assert "`# own.mjs`" in capsys.readouterr().err
    assert not list(tmp_path.rglob("ran"))


PYTHON_GUARDRAILS = """
def call_api(prompt, options, context):
    flags = {"input": {"flaggedInput": True}, "reason": {"reason": "no weapons"}, "passed": {"flagged": False}}
    given = {"guardrails": {"flagged": True, **flags[prompt]}} if prompt in flags else {}
    return {"output": prompt, "finishReason": "content_filter" if prompt == "filtered" else None, **given}
"""
JAVASCRIPT_GUARDRAILS = """
export default class {
  async callApi(prompt) {
    const flags = { input: { flaggedInput: true }, reason: { reason: 'no weapons' }, passed: { flagged: false } };
    const given = prompt in flags ? { guardrails: { flagged: true, ...flags[prompt] } } : {};
    return { output: prompt, finishReason: prompt === 'filtered' ? 'content_filter' : null, ...given };
  }
}
"""


@pytest.mark.parametrize(("file", "source"), [("own.py", PYTHON_GUARDRAILS), ("own.mjs", JAVASCRIPT_GUARDRAILS)])
def test_guardrails_are_what_the_provider_says_of_them(
    file: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if file.endswith(".mjs") and shutil.which("node") is None:
        pytest.skip("JavaScript needs node")
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(source)
    words = ("input", "reason", "passed", "none", "filtered")
    write(f"file://{file}", *words)
    config = json.loads(Path("promptfooconfig.yaml").read_text())
    config["tests"][0]["assert"] = [{"type": "guardrails", "weight": 3}, {"type": "not-guardrails"}]
    Path("promptfooconfig.yaml").write_text(json.dumps(config))
    graded = [each["scores"][0]["metadata"]["assertions"] for each in answers(*words)]
    assert [(holds["passed"], negated["passed"]) for holds, negated in graded] == [
        (False, True), (False, True), (True, False), (True, False), (True, False),
    ]  # fmt: skip
    assert [holds.get("found") for holds, _ in graded][:2] == ["the prompt failed safety checks", "no weapons"]


def test_safety_ratings_that_are_not_kept_are_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = {
        "prompts": ["x"],
        "providers": ["google:gemini-2.5-flash"],
        "tests": [{"assert": [{"type": "guardrails"}]}],
    }
    Path("promptfooconfig.yaml").write_text(json.dumps(config))
    assert main(["run", "promptfooconfig.yaml", "--quiet"]) == 2
    assert "the safety ratings that `guardrails` looks at are not kept" in capsys.readouterr().err
