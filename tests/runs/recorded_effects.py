"""Settings, task formats and models to combine, and what can be seen of a run: requests, models, results and files.

A setting had an effect if anything of it differs from the same run without the setting.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

import assay
from assay.core.model_stack import Wrapper
from assay.core.types import Completion, Request
from assay.runs.assemble import assemble
from assay.runs.plan import make_config, plan_runs, read_tasks
from assay.scorers.processes import MayMove

VALUES: dict[str, Any] = {
    "model_options": {"nonsense": 1},
    "temperature": 0.25,
    "top_p": 0.5,
    "max_tokens": 7,
    "stop": ("\n",),
    "seed": 3,
    "logprobs": 2,
    "reasoning_effort": "low",
    "system": "Be brief.",
    "prefill": "So:",
    "keep_thinking": True,
    "too_long": "fail",
    "canary": True,
    "repeat": 2,
    "limit": 1,
    "only": {"t": ("1",)},
    "task_config": {"word": "x"},
    "concurrency": 3,
    "batch_size": 1,
    "timeout_seconds": 50.0,
    "retries": 2,
    "judge_retries": 1,
    "patience_seconds": 5.0,
    "requests_per_minute": 9e6,
    "tokens_per_minute": 9e8,
    "score_workers": 3,
    "cache": True,
    "cache_path": "other.sqlite",
    "level": 0.9,
    "prices": "own-prices.yaml",
    "group_by": "topic",
    "by": ("topic",),
    "include_per_example": True,
    "allow_broken_tests": True,
    "min_sandbox": "U",
    "sandbox": "assay.sandbox.pool:Sandbox",
}
"""A value for each setting that must have an effect or be refused."""
HOLDS_ANYWAY = {
    *("adaptive", "cache_by_default", "cache_reads"),  # the defaults of commands and projects
    *("budget_cost", "budget_tokens", "budget_minutes", "allow_bad_tasks", "trust"),
    "tag",
}
"""Limits and permissions, which are kept where there is nothing to limit or to permit, and names for people."""

ROWS = [{"id": str(n), "q": f"compute: {n} + 1", "a": str(n + 1), "topic": "aab"[n - 1]} for n in (1, 2, 3)]
FORMATS: dict[str, str] = {
    "folder": "t.jsonl",
    "own settings": "set/t.jsonl",
    "choices": "likely/t.jsonl",
    "frozen spec": "spec.jsonl",
    "yaml": "yaml/t.yaml",
    "recorded answers": "recorded/t.yaml",
    "run file": "yaml/run.yaml",
    "promptfoo": "foo/promptfooconfig.yaml",
}


def write_formats(folder: Path) -> None:
    lines = [
        {"id": row["id"], "prompt": row["q"], "targets": [row["a"]], "metric": "exact_match",
         "metadata": {"topic": row["topic"]}}
        for row in ROWS
    ]  # fmt: skip
    generation = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 5, "stop": ["."], "seed": 1}
    choices = {"metric": "choice_likelihood", "extras": {"choices": ["2", "3"]}, "targets": ["A"]}
    spec = [
        {"task_id": f"a-{row['id']}", "category": "arithmetic", "prompt": row["q"], "targets": [row["a"]],
         "metric_name": "exact_match", "post_process": "strip_whitespace"}
        for row in ROWS
    ]  # fmt: skip
    files = {
        "t.jsonl": _lines(lines),
        "set/t.jsonl": _lines([{**line, "extras": {"generation": generation}} for line in lines]),
        "likely/t.jsonl": _lines([{**line, **choices} for line in lines]),
        "spec.jsonl": _lines(spec),
        "yaml/t.yaml": _yaml_task({"type": "single_turn_solver", "input_builder": {
            "type": "chat_completion", "input_messages": [{"role": "user", "content": "{{ sample.q }}"}]}}),
        "recorded/t.yaml": _yaml_task({"type": "pass_through_solver", "trace_column": "trace"}),
        "yaml/run.yaml": json.dumps({"models": ["echo"], "tasks": [{"$ref": "t.yaml"}]}),
        "foo/promptfooconfig.yaml": json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": [
            {"vars": {"q": row["q"]}, "assert": [{"type": "contains", "value": row["a"]}]} for row in ROWS]}),
        "own-prices.yaml": "date: 2026-01-01\nmodels: {m: {input: 1, output: 1}}\n",
    }  # fmt: skip
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _yaml_task(solver: dict[str, Any]) -> str:
    scorer = {"type": "string_equals", "ground_truth": "{{ sample.a }}"}
    definition = {"dataset": {"key": "rows"}, "solver": solver, "scorers": [scorer]}
    return json.dumps({"key": "t", "display_name": "T", "description": "", "definition": definition})


ROWS_FILE = json.dumps({
    "key": "rows",
    "display_name": "Rows",
    "source": {"type": "inline", "samples": [
        {**row, "trace": {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "2"}]}}
        for row in ROWS
    ]},
})  # fmt: skip


class Recorder:
    """What models were sent, whatever kind of model it is."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def of_texts(self) -> Any:
        recorder = self

        class Texts:
            name = "texts"

            def generate(self, prompts: list[str]) -> list[str]:
                recorder.seen.extend(prompts)
                return ["2" for _ in prompts]

        return Texts()

    def of_text(self) -> Any:
        def text(prompt: str) -> str:
            self.seen.append(prompt)
            return "2"

        return text

    def of_requests(self) -> Any:
        recorder = self

        class Requests:
            name = "requests"

            async def generate(self, request: Request) -> Completion:
                recorder.seen.append(msgspec.to_builtins(request))
                return Completion(text="2")

        return Requests()


@contextmanager
def recording_server(recorder: Recorder) -> Iterator[str]:
    """A server that speaks three vendors' protocols, told apart by their paths."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            recorder.seen.append(body)
            answer: dict[str, Any] = {"choices": [{"message": {"content": "2"}, "finish_reason": "stop"}]}
            if self.path.endswith("/messages"):
                answer = {"content": [{"type": "text", "text": "2"}], "stop_reason": "end_turn"}
            if ":generateContent" in self.path:
                answer = {"candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}]}
            sent = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


MODELS = (
    *("toy", "stub:2", "echo", "a text", "texts", "requests"),
    *("openai", "completions", "anthropic", "gemini"),
)


def model_called(name: str, recorder: Recorder, url: str) -> Any:
    own = {"a text": recorder.of_text, "texts": recorder.of_texts, "requests": recorder.of_requests}
    served = {"openai": f"openai:m@{url}/v1", "anthropic": f"anthropic:m@{url}/v1", "gemini": f"gemini:m@{url}/v1"}
    served["completions"] = f"vllm:m@{url}/v1"
    return own[name]() if name in own else served.get(name, name)


def observed(form: str, model: str, recorder: Recorder, url: str, **settings: Any) -> Any:
    """All that can be seen of a run with these settings. `UsageError` where it is refused."""
    recorder.seen = []
    called = model_called(model, recorder, url)
    found = assay.evaluate(FORMATS[form], called, fresh=True, folder="run", **settings)
    board = msgspec.to_builtins(found.leaderboard)
    files = sorted(path.name for path in Path("run").iterdir())
    return _steady(recorder.seen), _without_clocks(board), files, asyncio.run(_stack(FORMATS[form], called, settings))


async def _stack(path: str, model: Any, settings: dict[str, Any]) -> list[Any]:
    """The models of the run with their wrappers, how many attempts are in flight, and where scorers run."""
    config = make_config(**settings)
    definitions = read_tasks([path], config, evaluated=[model]).definitions
    (run,) = plan_runs(definitions, config, [model])
    async with assemble(run.definitions, run.config, model=run.model) as parts:
        scorers = [scorer for task in parts.tasks for scorer in task.scorers.values()]
        processes = [parts.supervisor.most for scorer in scorers if isinstance(scorer, MayMove)]
        layers: list[Any] = [parts.in_flight, processes]
        layer: Any = parts.model
        while isinstance(layer, Wrapper):
            plain = {name: value for name, value in vars(layer).items() if isinstance(value, int | float | str)}
            layers.append([type(layer).__name__, plain])
            layer = layer.model
        return layers


def _steady(seen: list[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True, default=str) for each in seen)


def _without_clocks(value: Any) -> Any:
    """A result without what differs from run to run: times, and the fingerprint that holds every setting."""
    if isinstance(value, dict):
        skipped = ("seconds", "latency", "created", "fingerprint", "generated_at", "started", "finished")
        steady = [name for name in value if not any(word in name for word in skipped)]
        return {name: _without_clocks(value[name]) for name in steady}
    return [_without_clocks(each) for each in value] if isinstance(value, list | tuple) else value
