"""promptfoo's `webhook`: a service of the author's decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.cli.main import main
from assay.core.errors import FailureError, UsageError
from assay.core.types import Sample, Trace
from assay.scorers.assertions.sample_assertions import sample_assertions


class Judge(BaseHTTPRequestHandler):
    """Answers with what the output says, and keeps what it was sent."""

    bodies: list[dict[str, Any]] = []  # noqa: RUF012 - emptied by the fixture

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        text = body["output"].encode()
        self.send_response({b"broken": 500, b"moved": 307}.get(text, 200))
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Judge.bodies.clear()
    with HTTPServer(("127.0.0.1", 0), Judge) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/judge"
        server.shutdown()
        thread.join()


def values(answer: str, url: str, kind: str = "webhook", allowed: bool = True) -> Any:
    async def score() -> Any:
        scorer = sample_assertions("a", webhooks=[url] if allowed else [])
        sample = Sample(id="1", extras={"assertions": [{"type": kind, "value": url}]}, row={"x": 1})
        try:
            return await scorer(sample, Trace(prediction=answer, prompt="asked"))
        finally:
            await scorer.aclose()

    return asyncio.run(score()).values


@pytest.mark.parametrize(
    ("answer", "kind", "score", "passed"),
    [
        ('{"pass": true}', "webhook", 1.0, 1.0),
        ('{"pass": false, "score": 0.25, "reason": "no"}', "webhook", 0.0, 0.25),
        ('{"pass": true, "score": 0.75}', "not-webhook", 0.0, 0.25),
        ('{"pass": false}', "not-webhook", 1.0, 1.0),
    ],
)
def test_the_service_decides(address: str, answer: str, kind: str, score: float, passed: float) -> None:
    assert values(answer, address, kind) == {"score": score, "passed": passed}
    assert Judge.bodies == [{"output": answer, "context": {"prompt": "asked", "vars": {"x": 1}}}]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("broken", "server_error"),
        ("moved", "server_error"),
        ("no JSON", "bad_output"),
        ('{"score": 1}', "bad_output"),
    ],
)
def test_a_service_that_gives_no_verdict_is_a_failure(address: str, answer: str, kind: str) -> None:
    with pytest.raises(FailureError) as failed:
        values(answer, address)
    assert failed.value.failure.kind == kind


def test_a_redirect_is_not_followed(address: str) -> None:
    with pytest.raises(FailureError, match="status 307, and redirects are not followed"):
        values("moved", address)
    assert len(Judge.bodies) == 1


def test_a_service_that_is_not_there_is_a_failure_of_the_scorer() -> None:
    with pytest.raises(FailureError) as failed:
        values("x", "http://127.0.0.1:1/judge")
    assert (failed.value.failure.stage, failed.value.failure.part) == ("scorer", "a")


def test_only_addresses_of_the_task_are_called(address: str) -> None:
    with pytest.raises(FailureError, match="does not say that it connects to"):
        values('{"pass": true}', address, allowed=False)
    assert Judge.bodies == []


CONFIG = """
prompts: ['{{x}}']
providers: [echo]
tests: [{vars: {x: '{"pass": true}'}, assert: [{type: webhook, value: URL}]}]
"""


def test_a_strangers_address_needs_trust(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    config = tmp_path / "promptfooconfig.yaml"
    config.write_text(CONFIG.replace("URL", address))
    assert main(["run", str(config), "--quiet"]) == 2
    assert f"would connect to `{address}`" in capsys.readouterr().err
    assert main(["run", str(config), "--trust", "--quiet"]) == 0
    assert len(Judge.bodies) == 1


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x/y", "begins with http"),
        ("http://", "begins with http:// or https:// and names a host"),
        ("'http://[::bad/y'", "begins with http:// or https:// and names a host"),
        ("http://x:99999/y", "begins with http:// or https:// and names a host"),
        ("http://me:pw@x/y", "a user name or password"),
    ],
)
def test_an_address_that_cannot_be_called_is_refused(tmp_path: Path, url: str, message: str) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(CONFIG.replace("URL", url))
    with pytest.raises(UsageError, match=message):
        read_promptfoo(path)
