"""A provider that sends the spans of its work as OTLP's JSON, as the library of OpenTelemetry would."""

import hashlib
import json
import time
import urllib.request


def attributes(values):
    kinds = {bool: "boolValue", int: "intValue", str: "stringValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in values.items()]


def call_api(prompt, options, context):
    _, trace, parent, _ = context["traceparent"].split("-")
    word, started = prompt.split()[-1], time.time_ns()

    def span(name, start_ms, duration_ms, given, **status):
        start = started + start_ms * 1_000_000
        return {
            "traceId": trace,
            "spanId": hashlib.sha256(f"{trace} {name}".encode()).hexdigest()[:16],
            "parentSpanId": parent,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + duration_ms * 1_000_000),
            "attributes": attributes(given),
            "status": status,
        }

    order = json.dumps({"order": word, "limit": 10})
    spans = [
        span("agent.run", 0, 90, {}),
        span("tool search", 5, 10, {"tool.name": "search_orders", "tool.arguments": order}),
        span("tool compose", 20, 30, {"gen_ai.tool.name": "compose_reply", "api_key": "a-key"}),
        span("shell", 60, 5, {"tool.name": "bash", "tool.args": '{"cmd": "ls -la"}'}),
    ]
    if word == "broken":
        spans.append(span("db.query", 70, 400, {"http.status_code": 503}, code=2, message="timeout"))
    resource = {"attributes": attributes({"service.name": "agent"})}
    sent = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": spans}]}]}
    headers = {"Content-Type": "application/json"}
    address = f"http://127.0.0.1:{options['config']['port']}/v1/traces"
    urllib.request.urlopen(urllib.request.Request(address, json.dumps(sent).encode(), headers)).close()
    skills = [{"name": "review"}, {"name": "lint", "is_error": True}]
    return {"output": f"done {word}", "metadata": {"skillCalls": skills}, "finishReason": "stop"}
