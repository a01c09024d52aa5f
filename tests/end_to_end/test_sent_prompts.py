"""What was really sent to a model is in the journal once, and in every place where a person reads an attempt."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from assay.cli.main import main
from assay.core.describe import ModelOffers
from assay.core.journal import read_records
from assay.core.types import Completion, Request
from assay.results.conversation import sent_prompt
from assay.run_file import read_run_file
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs
from assay.runs.progress import run_blocking
from assay.storage.packed_text import sent_texts
from assay.tasks.load import load_tasks
from assay.viewer.builders import Builders
from assay.viewer.run_view import RunView
from assay.viewer.samples import sample

PROMPT = "Which river flows through Vienna, Budapest and Belgrade?"


class Renders:
    """A model whose prompts assay renders; those of the second sample are beyond its context."""

    name = "local"
    offers = ModelOffers(renders_prompts=True)

    async def generate(self, request: Request) -> Completion:
        text = request.prompt or ""
        cut = 7 if "Rhine" in text else 0
        return Completion(text="Danube", sent=f"<s>[INST] {text} [/INST]" if not cut else text[20:], cut=cut)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prompts = [PROMPT, f"{PROMPT} It is not the Rhine."]
    lines = [
        {"id": str(number), "prompt": prompt, "targets": ["Danube"], "metric": "exact_match"}
        for number, prompt in enumerate(prompts)
    ]
    (tmp_path / "rivers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    planned = plan_runs(load_tasks(["rivers.jsonl"]), make_config(too_long="cut-left"), [Renders()])
    run_blocking(run_all(planned, RunOptions(folder=tmp_path / "run")))
    return tmp_path / "run"


def test_the_journal_has_what_the_prompt_lacks_and_the_board_how_many_were_cut(run: Path) -> None:
    records = sorted(read_records(run / "journal.jsonl"), key=lambda record: record.index)
    traces = [msgspec.to_builtins(record)["trace"] for record in records]
    assert [sent_texts(trace) for trace in traces] == [
        [f"<s>[INST] {PROMPT} [/INST]"],
        [f"{PROMPT} It is not the Rhine."[20:]],
    ]
    assert (run / "journal.jsonl").read_text().count(PROMPT) == 2
    board = json.loads((run / "leaderboard.json").read_text())
    assert board["tasks"][0]["prompts_cut"] == 1
    assert board["settings"]["too_long"] == "cut-left"


def test_show_and_the_viewer_have_the_text(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run)]) == 0
    assert "prompts cut" in capsys.readouterr().out
    assert main(["show", str(run), "--sample", "0"]) == 0
    assert f"sent:      <s>[INST] {PROMPT} [/INST]" in capsys.readouterr().out
    assert main(["show", str(run), "--sample", "1"]) == 0
    assert "cut:       the first 7 tokens of the prompt" in capsys.readouterr().out
    view = RunView("run", run, Builders())
    shown = sample(view, next(iter(read_records(run / "journal.jsonl"))).key, whole=False)
    assert shown["sent"]["texts"] == sent_texts(shown["record"]["trace"])


@pytest.mark.parametrize(
    ("model", "note"),
    [
        ({"adapter": "openai", "base_url": "http://127.0.0.1/v1", "mode": "chat"}, "as messages; template applied by"),
        ({"adapter": "anthropic", "base_url": "http://127.0.0.1"}, "as messages; template applied by the server"),
        ({"adapter": "openai", "base_url": "http://127.0.0.1/v1", "mode": "completions"}, "as it is; the server adds"),
        ({"name": "toy"}, ""),
    ],
)
def test_where_a_server_renders_that_is_said(model: dict[str, str], note: str) -> None:
    prompt = sent_prompt({"trace": {"prompt": PROMPT, "prediction": "Danube"}}, model)
    assert prompt.texts == []
    assert (prompt.note or "").startswith(note)


def test_a_prompt_that_went_out_as_it_is_is_not_printed_twice(run: Path) -> None:
    trace = {"prompt": PROMPT, "prediction": "x", "sent": [[[0, 0, len(PROMPT)]]]}
    prompt = sent_prompt({"trace": trace}, read_run_file(run).model)
    assert (prompt.texts, prompt.note) == ([PROMPT], "as it is, without a chat template")
