"""One truth where nothing is made up: a model, its judge and a proposer behind real HTTP, two runs, and a whole search.

The search starts from the prompt of one run and finds that of the other, so its numbers are those of the two runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving
from tests.results.test_every_surface import data, exported, from_viewer, same, words_of
from tests.results.yaml_runs import write_task

from assay.cli.main import main
from assay.pages.documents.leaderboard import interval, number
from assay.pages.html.report_page import report_page
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.results.report_settings import View
from assay.viewer.api import Api, Params
from assay.viewer.export import export_site
from assay.viewer.run_list import RunList

SAMPLES, UNUSABLE = 14, 5
SEED, BETTER = "{{ sample.q }}", "Think. {{ sample.q }}"
ODD = ("東京はどこですか", "```python\nprint('x')\n```", "\U0001f9ea", "plain")


def said(payload: dict[str, Any]) -> str:
    """What the three models say: pure functions of their prompts."""
    asked = payload["messages"][-1]["content"]
    if payload["model"] == "judge":  # asked again, it is told only why
        asked = "\n".join(message["content"] for message in payload["messages"][:2])
    if payload["model"] == "proposer":
        return f"```\n{BETTER}\n```"
    number = int((re.findall(r"#(\d+)", asked) or ["0"])[-1])  # a probe holds no sample
    if payload["model"] == "answerer":
        return f"{'careful' if asked.startswith('Think.') else 'hasty'} {ODD[number % len(ODD)]} #{number}"
    if number == UNUSABLE:
        return "hmm, hard to say"
    return str(1 + points(number, careful="careful" in asked))


def points(number: int, *, careful: bool) -> int:
    return min(4, number * 7 % 5 + careful)


def answer(payload: Any) -> Answer:
    message = {"role": "assistant", "content": said(payload)}
    body = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    }
    return Answer(json.dumps(body).encode(), headers={"Content-Type": "application/json"})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the runs `before` and `after`, the search between them, and its result."""
    folder = tmp_path_factory.mktemp("judged")
    with serving(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        (folder / "models").mkdir()
        model = {"key": "judge", "display_name": "J", "config": {"connection_type": "assay", "model": "openai:judge"}}
        (folder / "models" / "judge.yaml").write_text(json.dumps(model))
        seeded = task(folder, SEED)
        options = ["--model", "openai:answerer", "--retries", "0", "--level", "0.9", "--quiet"]
        assert main(["run", str(seeded), *options, "--run-dir", "runs/before"]) == 3
        searched = ["--task", str(seeded), "--prompt-at", "input_builder.input_messages.0.content"]
        searched += ["--task-model", "openai:answerer", "--model", "openai:proposer"]
        searched += ["--budget", "70", "--run-dir", "search", "--quiet"]
        assert main(["optimize", *searched]) in (0, 3)
        assert main(["run", str(task(folder, BETTER)), *options, "--run-dir", "runs/after"]) == 3
        asked = {received.payload["model"] for received in server.received}
        assert asked == {"answerer", "judge", "proposer"}
        yield folder


def task(folder: Path, prompt: str) -> Path:
    rows = [{"q": f"{ODD[n % len(ODD)]} #{n}", "gold": f"gold {n}"} for n in range(SAMPLES)]
    judge = {
        "key": "judge",
        "type": "model_as_a_judge_scorer",
        "model_key": "judge",
        "user_prompt": "Rate from 1 to 5, where 5 is {{ sample.gold }}: {{ model_output }}",
        "score_min": 1,
        "score_max": 5,
    }
    messages = [{"role": "user", "content": prompt}]
    solver = {"type": "single_turn_solver", "input_builder": {"type": "chat_completion", "input_messages": messages}}
    return write_task(folder, rows, [judge], solver=solver)


@pytest.fixture(scope="module")
def boards(project: Path) -> dict[str, Leaderboard]:
    return {name: build_leaderboard(project / "runs" / name, View(level=0.9)) for name in ("before", "after")}


def test_a_failed_attempt_shows_the_expected_answer_like_a_scored_one(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api(RunList([project / "runs"]))
    lines = [json.loads(line) for line in (project / "runs" / "before" / "journal.jsonl").read_text().splitlines()]
    for line in lines:
        sample = api.sample(Params([("run", "before"), ("key", line["key"])]))
        assert sample["expected"] == f"gold {line['index']}"
    assert [line["index"] for line in lines if line.get("failures")] == [UNUSABLE]
    assert main(["show", str(project / "runs" / "before"), "--sample", str(UNUSABLE)]) == 0
    assert f"expected:  gold {UNUSABLE}\n" in capsys.readouterr().out


def ratings(careful: bool) -> list[float]:
    """What the judge's ratings amount to, scaled to [0, 1] by hand."""
    return [points(number, careful=careful) / 4 for number in range(SAMPLES) if number != UNUSABLE]


def test_the_leaderboard_has_the_judges_ratings_and_counts_the_unusable_one(boards: dict[str, Leaderboard]) -> None:
    for name, careful in (("before", False), ("after", True)):
        [row] = boards[name].tasks
        assert same(row.score, sum(ratings(careful)) / len(ratings(careful)))
        assert (row.scored, row.failed, row.total) == (SAMPLES - 1, 1, SAMPLES)
        assert row.bounds is not None
        assert same(row.bounds.low, sum(ratings(careful)) / SAMPLES)
        assert same(row.bounds.high, (sum(ratings(careful)) + 1) / SAMPLES)


def test_a_whole_search_measures_what_the_two_runs_show(project: Path, boards: dict[str, Leaderboard]) -> None:
    found = json.loads((project / "search" / "summary.json").read_text())
    assert (found["seed"], found["best"]) == (SEED, BETTER)
    made = diff(project / "runs" / "before", project / "runs" / "after", View())
    [compared] = made.tasks
    assert compared.comparison is not None
    for side, name in (("seed", "before"), ("best", "after")):
        [row] = boards[name].tasks
        assert same(found["valset"][side]["mean"], row.score)
        assert (found["valset"][side]["scored"], found["valset"][side]["failed"]) == (row.scored, row.failed)
    assert same(found["valset"]["difference"], compared.comparison.difference)
    assert [found["valset"]["low"], found["valset"]["high"]] == [None, None], "the search selected on it"
    assert found["valset"]["pairs"] == compared.comparison.n


def test_viewer_site_report_and_gates_show_the_same(
    project: Path, boards: dict[str, Leaderboard], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [project / "runs" / name for name in boards]
    api, site = Api(RunList([project / "runs"])), export_site([project / "runs"], tmp_path / "site", 999).parent
    assert {each["name"] for each in data(site, "runs")["runs"]} == set(boards)
    assert main(["leaderboard", *map(str, folders), "--json"]) == 0
    standings = {Path(row["source"]).name: row for row in json.loads(capsys.readouterr().out)["models"]}
    page = words_of(report_page(folders, View(level=0.9)))
    for name, board in boards.items():
        [row] = board.tasks
        assert row.interval is not None
        expected = {"score": row.score, "interval": [row.interval.low, row.interval.high], "scored": row.scored}
        assert same(from_viewer(api.samples(Params([("run", name), ("task", "t")]))["summary"]["score"]), expected)
        [part] = exported(site, name)["slices"]["task"]["slices"]
        assert same(from_viewer(part["score"]), expected)
        assert same(standings[name]["tasks"]["t"]["score"], row.score)
        assert number(row.score) in page
        assert interval(row.interval) in page
        assert row.bounds is not None
        near = [f"t >= {row.bounds.low - 1e-6:.9f}", f"t >= {row.bounds.high + 1e-6:.9f}", f"t >= {row.score:.9f}"]
        outcomes = [result.outcome for result in check_gates(parse_gates(near), board)]
        assert outcomes == ["met", "not met", "cannot tell"]
    made = diff(*folders, View(level=0.9))
    [pair] = api.compare(Params([("run", "before"), ("run", "after")]))["pairs"]
    assert made.tasks[0].comparison is not None
    assert same(pair["tasks"][0]["difference"], made.tasks[0].comparison.difference)
    assert same(pair["tasks"][0]["interval"]["low"], made.tasks[0].comparison.interval.low)
