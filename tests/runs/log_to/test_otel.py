"""A run as spans of the real OpenTelemetry SDK, in the words of the GenAI conventions."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runs.log_to.conftest import answer

import assay
from assay.runs.log_to.otel import Spans

trace = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
pytestmark = pytest.mark.filterwarnings("ignore")  # its own, of every release


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What a program's own provider was handed."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    kept = export.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    yield kept
    provider.shutdown()


def test_a_run_is_a_tree_of_spans_with_usage_scores_and_failures(task: str, spans: Any) -> None:
    def counted(request: assay.Request) -> assay.Completion:
        return assay.Completion(text=answer(request.text()), tokens_in=7, tokens_out=2, finish_reason="stop")

    assay.evaluate(task, counted, listeners=["otel"], temperature=0.5)
    found = spans.get_finished_spans()
    run = found[-1]
    attempts = {span.attributes["assay.sample.id"]: span for span in found if span.name == "attempt sums: easy"}
    answers = [span for span in found if span.name == "chat counted"]
    assert {span.parent.span_id for span in attempts.values()} == {run.context.span_id}
    assert {span.parent.span_id for span in answers} == {attempts[name].context.span_id for name in ("right", "wrong")}
    said = dict(answers[0].attributes)
    assert said[conventions.GEN_AI_OPERATION_NAME] == "chat"
    assert said[conventions.GEN_AI_REQUEST_MODEL] == "counted"
    assert said[conventions.GEN_AI_REQUEST_TEMPERATURE] == 0.5
    assert said[conventions.GEN_AI_USAGE_INPUT_TOKENS] == 7
    assert said[conventions.GEN_AI_USAGE_OUTPUT_TOKENS] == 2
    assert said[conventions.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)
    [event] = attempts["wrong"].events
    assert event.name == "gen_ai.evaluation.result"
    assert event.attributes[conventions.GEN_AI_EVALUATION_SCORE_VALUE] == 0.0
    broken = attempts["broken"]
    assert (broken.attributes["error.type"], broken.status.status_code.name) == ("exception", "ERROR")
    [task_span] = [span for span in found if span.name == "task sums: easy"]
    assert task_span.parent.span_id == run.context.span_id
    assert task_span.attributes["assay.score"] == 0.5
    assert run.attributes["assay.overall_score"] == 0.5
    known = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}
    used = {name for span in found for name in span.attributes if name.startswith("gen_ai.")}
    assert used <= known
    assert not [span for span in found if "compute: 1 + 1" in str(dict(span.attributes))]


def test_a_run_of_many_tasks_loses_no_attribute(task: str, spans: Any, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "many").mkdir(exist_ok=True)
        (tmp_path / "many" / f"t{number}.jsonl").write_bytes(Path(task).read_bytes())
    assay.evaluate("many", answer, listeners=["otel"])
    found = spans.get_finished_spans()
    assert not [span.name for span in found if span.dropped_attributes]
    assert found[-1].attributes["assay.model.name"] == "tests.runs.log_to.conftest:answer"
    tasks = {span.name: span.attributes for span in found if span.name.startswith("task ")}
    assert len(tasks) == 40
    assert tasks["task t7"]["assay.score"] == 0.5
    assert tasks["task t7"]["assay.sha256"]


def test_without_a_provider_of_the_program_spans_go_to_the_collector_that_the_environment_names(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        listener = Spans()
        assay.evaluate(task, answer, listeners=[listener])
        listener._provider.shutdown()
        server.shutdown()
    assert sent
    assert set(sent) == {"/v1/traces"}
