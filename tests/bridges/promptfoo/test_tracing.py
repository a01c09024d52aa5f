"""The traces of a configuration: received from its provider, graded as promptfoo grades them.

`cases/tracing/verdicts.json` holds the verdicts of promptfoo 0.121.20 on the configuration next to it. Where that
program is installed (`PROMPTFOO` names its command), it runs again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.promptfoo.grader_server import grader_server
from tests.bridges.promptfoo.test_promptfoo_source import COMMAND, NODE, ask_promptfoo
from tests.models.adapters.test_otlp_receiver import free_port

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.bridges.promptfoo.tracing import span_name
from assay.cli.main import main
from assay.core.errors import UsageError

CASES = Path(__file__).parent / "cases" / "tracing"
RECORDED = json.loads((CASES / "verdicts.json").read_text())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(CASES / "provider.py", tmp_path)
    text = (CASES / "promptfooconfig.yaml").read_text().replace("PORT", str(free_port()))
    (tmp_path / "promptfooconfig.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def records(run: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in Path(run, "journal.jsonl").read_text().splitlines()]
    return sorted((each for each in lines if "sample_id" in each), key=lambda each: each["sample_id"])


def verdicts(run: str) -> list[list[bool]]:
    return [[bool(each["passed"]) for each in record["scores"][0]["metadata"]["assertions"]] for record in records(run)]


@pytest.mark.skipif(NODE is None, reason="JavaScript assertions need node")
@pytest.mark.usefixtures("folder")
def test_every_verdict_is_promptfoos_and_rescoring_needs_no_provider() -> None:
    assert main(["run", "promptfooconfig.yaml", "--trust", "--run-dir", "run", "--quiet"]) == 0
    assert verdicts("run") == RECORDED
    Path("provider.py").write_text("def call_api(prompt, options, context):\n    raise SystemError\n")
    assert main(["rescore", "run", "--run-dir", "again", "--trust", "--quiet"]) == 0
    assert verdicts("again") == RECORDED
    spans = records("run")[0]["trace"]["completions"][0]["raw"]["trace"]["spans"]
    assert "a-key" not in json.dumps(spans)


@pytest.mark.skipif(COMMAND is None, reason="promptfoo is not installed (PROMPTFOO names its command)")
def test_the_verdicts_are_those_that_were_recorded(folder: Path) -> None:
    results = ask_promptfoo(folder / "promptfooconfig.yaml")
    assert [[part["pass"] for part in each["gradingResult"]["componentResults"]] for each in results] == RECORDED


CONFIG: dict[str, Any] = {
    "prompts": ["Say {{q}}"],
    "providers": ["echo"],
    "tracing": {"enabled": True},
    "tests": [{"vars": {"q": "a"}, "assert": [{"type": "trace-span-count", "value": {"pattern": "*", "max": 0}}]}],
}


def write(**sections: Any) -> Path:
    Path("promptfooconfig.yaml").write_text(json.dumps(CONFIG | sections))
    return Path("promptfooconfig.yaml")


def asserted(*assertions: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"vars": {"q": "a"}, "assert": list(assertions)}]


def test_a_request_is_a_span_as_in_promptfoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFKEY", "sk-x")
    with grader_server() as port:
        config = {"apiBaseUrl": f"http://127.0.0.1:{port}/v1", "apiKeyEnvar": "PFKEY"}
        one = {"type": "trace-span-count", "value": {"pattern": "CHAT gpt-*", "min": 1, "max": 1}}
        no_tool = {"type": "not-trajectory:tool-used", "value": "*"}
        write(providers=[{"id": "openai:chat:gpt-x", "config": config}], tests=asserted(one, no_tool))
        assert main(["run", "promptfooconfig.yaml", "--trust", "--run-dir", "run", "--quiet"]) == 0
    assert verdicts("run") == [[True, True]]


def test_a_provider_without_a_span_and_the_model_that_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write()
    assert main(["run", "promptfooconfig.yaml", "--run-dir", "echo", "--quiet"]) == 0
    assert verdicts("echo") == [[True]]
    assert main(["run", "promptfooconfig.yaml", "--model", "stub:a", "--run-dir", "stub", "--quiet"]) == 0
    assert verdicts("stub") == [[False]]
    assert records("stub")[0]["trace"]["completions"][0]["raw"]["trace"]["spans"][0]["name"] == "chat a"


def test_a_goal_is_graded_with_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFKEY", "sk-x")
    with grader_server() as port:
        config = {"apiBaseUrl": f"http://127.0.0.1:{port}/v1", "apiKeyEnvar": "PFKEY"}
        kind, grader = "trajectory:goal-success", {"provider": {"id": "openai:grader", "config": config}}
        steps = {"rubricPrompt": "{% if 'stepCount' in trajectory %}GRADE-FAIL{% endif %} {{ goal }} {{ output }}"}
        write(
            tests=asserted(
                {"type": kind, "value": "GRADE-PASS-08", **grader},
                {"type": f"not-{kind}", "value": {"goal": "GRADE-PASS-08"}, **grader},
                {"type": kind, "value": "reach it", **grader, **steps},
            )
        )
        assert main(["run", "promptfooconfig.yaml", "--trust", "--run-dir", "run", "--quiet"]) == 0
    assert verdicts("run") == [[True, False, False]]
    scores = [each["score"] for each in records("run")[0]["scores"][0]["metadata"]["assertions"]]
    assert scores == [0.8, 0.0, 0.2]


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ({"type": "not-trace-span-count", "value": {"pattern": "*"}}, "promptfoo ignores the negation"),
        ({"type": "trace-span-count"}, "needs a `value`"),
        ({"type": "trace-span-count", "value": {"min": 1}}, "its value needs `pattern`"),
        ({"type": "trace-span-count", "value": {"pattern": "*", "maximum": 1}}, "`maximum` of its value"),
        ({"type": "trace-span-duration", "value": {"max": "9"}}, "`max` of its value must be a number, got '9'"),
        ({"type": "trace-span-duration", "value": {"max": 9, "percentile": 101}}, "from 0 to 100"),
        ({"type": "trace-error-spans", "value": "none"}, "must be the most errors"),
        ({"type": "trajectory:tool-used", "value": []}, "a name, a list of names or a mapping"),
        ({"type": "trajectory:tool-used", "value": {"min": 1}}, "needs `name` or `pattern`"),
        ({"type": "trajectory:tool-sequence", "value": ["a", {"min": 1}]}, "step 2: `min` of its value"),
        ({"type": "trajectory:tool-sequence", "value": {"steps": ["a"], "mode": "any"}}, "in_order or exact"),
        ({"type": "trajectory:tool-args-match", "value": {"name": "a"}}, "needs `args` or `arguments`"),
        ({"type": "trajectory:tool-args-match", "value": {"name": "a", "args": 1, "ignore": [1]}}, "`ignore`"),
        ({"type": "trajectory:step-count", "value": {"type": "tools", "max": 1}}, "must be of command, message"),
        ({"type": "trajectory:step-count", "value": 3}, "its value must be a mapping"),
        ({"type": "trajectory:goal-success", "value": {"goal": " "}}, "`goal` of its value must be a text"),
        ({"type": "not-skill-used", "value": {"name": "a", "min": 1}}, "it takes no `min`"),
        ({"type": "skill-used", "value": {"name": "a", "min": 2, "max": 1}}, "must not be less than `min`"),
    ],
)
def test_a_value_that_promptfoo_would_refuse_or_ignore_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assertion: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        read_promptfoo(write(tests=asserted(assertion)))
    assert message in str(raised.value)
    assert "tests[0].assert[0]" in str(raised.value)


@pytest.mark.parametrize(
    ("tracing", "message"),
    [
        (None, "needs the trace of the answer: add `tracing: {enabled: true"),
        ({"enabled": False}, "needs the trace of the answer"),
        ({"enabled": True, "otpl": {}}, "`otpl` of tracing is not supported"),
        ({"enabled": True, "otlp": {"http": {"enabled": True, "host": "example.org"}}}, "on this machine only"),
        ({"enabled": True, "otlp": {"http": {"enabled": True, "port": 70000}}}, "from 1 to 65535, got 70000"),
        ({"enabled": True, "commandToolNames": "bash"}, "a list of texts"),
    ],
)
def test_a_section_that_gives_no_trace_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracing: dict[str, Any] | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        read_promptfoo(write(tracing=tracing))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("provider", "settings", "name"),
    [
        ("openai:gpt-4o", {}, "chat gpt-4o"),
        ("openai:chat:gpt-4o", {}, "chat gpt-4o"),
        ("openai:completion:davinci", {}, None),
        ("ollama:llama3", {}, "completion llama3"),
        ("ollama:chat:llama3:8b", {}, "chat llama3:8b"),
        ("bedrock:converse:nova", {}, "chat nova"),
        ("bedrock:nova", {}, None),
        ("http", {"url": "http://x/y"}, "chat http://x/y"),
        ("echo", {}, None),
        ("python:p.py", {}, None),
    ],
)
def test_spans_are_named_as_promptfoos_providers_name_them(
    provider: str, settings: dict[str, Any], name: str | None
) -> None:
    assert span_name(provider, settings) == name
