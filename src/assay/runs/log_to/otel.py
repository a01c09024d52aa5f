"""The listener `otel`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from assay.core.types import Record
from assay.runs.evaluate import RunResult
from assay.runs.listeners import RunStart
from assay.runs.log_to.facts import metrics_of_run, metrics_of_task, package, params_of_run, tasks_of
from assay.runs.log_to.genai import evaluations, own, request_attributes, response_attributes


class Spans:
    """OpenTelemetry spans of the run, its tasks, attempts and answers, by the GenAI conventions, without any text; to
    the program's tracer provider or, where it has none, by OTLP, as set by OTEL_EXPORTER_OTLP_ENDPOINT and the like."""

    def __init__(self) -> None:
        self._api = package("opentelemetry.trace", "otel")
        sdk, self._provider = package("opentelemetry.sdk.trace", "otel"), self._api.get_tracer_provider()
        if not isinstance(self._provider, sdk.TracerProvider):
            self._provider = sdk.TracerProvider()
            otlp = package("opentelemetry.exporter.otlp.proto.http.trace_exporter", "otel").OTLPSpanExporter()
            batching = package("opentelemetry.sdk.trace.export", "otel").BatchSpanProcessor(otlp)
            self._provider.add_span_processor(batching)
        self._tracer = self._provider.get_tracer("assay")

    def run_began(self, run: RunStart) -> None:
        self._span = self._tracer.start_span(f"evaluate {run.run.model['name']}", attributes=own(params_of_run(run)))
        self._tasks, self._within = tasks_of(run), self._api.set_span_in_context(self._span)
        self._request = request_attributes(run.run.model, run.run.config.settings())
        self._chat = f"chat {self._request['gen_ai.request.model']}"

    def records(self, batch: Sequence[Record]) -> None:
        now = time.time_ns()
        for record in batch:
            at = now - int(record.seconds * 1e9)
            about = {"assay.task": record.task, "assay.sample.id": record.sample_id, "assay.attempt": record.attempt}
            span = self._tracer.start_span(f"attempt {record.task}", self._within, attributes=about, start_time=at)
            for completion in record.trace.completions if record.trace else ():
                facts, within = self._request | response_attributes(completion), self._api.set_span_in_context(span)
                answer = self._tracer.start_span(self._chat, within, self._api.SpanKind.CLIENT, facts, start_time=at)
                answer.end(at := at + int(completion.seconds * 1e9))
            for evaluation in evaluations(record):
                span.add_event("gen_ai.evaluation.result", evaluation, now)
            if record.failures:
                span.set_attribute("error.type", record.failures[0].kind)
                span.set_status(self._api.StatusCode.ERROR, record.failures[0].stage)
            span.end(now)

    def run_finished(self, result: RunResult) -> None:
        for row in result.leaderboard.tasks:  # one span holds 128 attributes
            facts = own({**self._tasks[row.task], **metrics_of_task(row)})
            self._tracer.start_span(f"task {row.task}", self._within, attributes=facts).end()
        self._span.set_attributes(own(metrics_of_run(result.leaderboard)))
        if result.interrupted or result.stopped is not None:
            self._span.set_status(self._api.StatusCode.ERROR, result.stopped or "interrupted")
        self._span.end()
        self._provider.force_flush()
