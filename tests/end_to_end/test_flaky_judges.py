"""A judge's bad day is the judge's: its verdicts are asked for again, and no other score is lost with one of them.

A model and its judges are real servers on the loopback interface; what they say is a function of what they are asked.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, Loopback, serving

from assay.cli.main import main
from assay.reports.board.types import Leaderboard, TaskRow, read_leaderboard_file

SAMPLES = 60
PROSE = "I would say that it is rather good, all things considered."
Says = Callable[[dict[str, Any]], str | None]
"""What a judge says to a request; None: it is down."""


def completion(text: str) -> Answer:
    body = {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1},
    }
    return Answer(json.dumps(body).encode(), headers={"Content-Type": "application/json"})


def flaky(seed: int, share: float = 0.1) -> Says:
    """A judge that answers prose to this share of its requests, each decided by the conversation alone."""

    def say(request: dict[str, Any]) -> str:
        asked = request["messages"]
        chance = random.Random(f"{seed} {request['model']} {asked[1]['content']} {len(asked)}").random()
        return PROSE if chance < share else "correct"

    return say


def down(request: dict[str, Any]) -> None:
    return None


@dataclass
class Project:
    """A folder with a task, its model and its judges, and what each of them was sent."""

    folder: Path
    server: Loopback
    says: dict[str, Says] = field(default_factory=dict)

    def run(
        self, *options: str, folder: str = "r", verb: Sequence[str] = ("run", "t.yaml", "--model", "openai:m")
    ) -> int:
        return main([*verb, "--run-dir", folder, "--quiet", "--retries", "0", "--patience", "0", *options])

    def asked(self) -> Counter[str]:
        """How many requests each model got since the last call."""
        counts = Counter(received.payload["model"] for received in self.server.received)
        self.server.received.clear()
        return counts

    def board(self, folder: str = "r") -> Leaderboard:
        return read_leaderboard_file(self.folder / folder / "leaderboard.json")

    def row(self, folder: str = "r") -> TaskRow:
        return self.board(folder).tasks[0]

    def counts(self, folder: str = "r") -> dict[str, tuple[int, int]]:
        """For each aggregate, the attempts it is over and those it lacks."""
        return {each.name: (each.scored, each.failed + each.timeouts) for each in self.row(folder).aggregates}


def scorer(key: str, **more: Any) -> dict[str, Any]:
    """A judge as a scorer, and its one aggregate under its own name."""
    prompts = {"system_prompt": "Judge.", "user_prompt": "{{ sample.q }}: {{ model_output }}"}
    labels = {"correct_labels": ["correct"], "incorrect_labels": ["incorrect"]}
    metrics = [{"type": "mean", "field": "is_correct", "name": key}]
    return {
        "type": "model_as_a_judge_classifier",
        "key": key,
        "model_key": key,
        **prompts,
        **labels,
        "metrics": metrics,
        **more,
    }


EXACT = {
    "type": "string_equals",
    "key": "exact",
    "ground_truth": "{{ sample.a }}",
    "metrics": [{"type": "mean", "field": "is_correct", "name": "exact"}],
}


@contextmanager
def project(
    folder: Path, scorers: Sequence[dict[str, Any]], says: dict[str, Says], samples: int = SAMPLES, **more: Any
) -> Iterator[Project]:
    made: Project

    def answer(request: dict[str, Any]) -> Answer:
        if request["model"] == "m":
            return completion(request["messages"][-1]["content"])  # right where the question is the answer
        said = made.says[request["model"]](request)
        return Answer(b"{}", status=401) if said is None else completion(said)

    rows = [{"q": f"q{at}", "a": f"q{at}" if at % 3 else "other"} for at in range(samples)]
    messages = [{"role": "user", "content": "{{ sample.q }}"}]
    solver = {"type": "single_turn_solver", "input_builder": {"type": "chat_completion", "input_messages": messages}}
    definition = {"dataset": {"key": "d"}, "solver": solver, "scorers": list(scorers), **more}
    task = {"key": "t", "display_name": "T", "description": "T", "definition": definition}
    with serving(answer) as server, pytest.MonkeyPatch.context() as patch:
        made = Project(folder, server, dict(says))
        patch.chdir(folder)
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        for name, text in {
            "t.yaml": json.dumps(task),
            "datasets/d.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
            **{
                f"models/{key}.yaml": json.dumps(
                    {"key": key, "display_name": key, "config": {"connection_type": "assay", "model": f"openai:{key}"}}
                )
                for key in says
            },
        }.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        yield made


def is_green(made: Project, seed: int) -> bool:
    """Run with a judge that is unusable in 10 % of its verdicts; whatever came of it, the other scores are there."""
    made.says["judge"] = flaky(seed)
    status = made.run(folder=f"r{seed}")
    row = made.row(f"r{seed}")
    exact, judge = row.aggregates
    assert (exact.scored, exact.failed, row.score) == (SAMPLES, 0, pytest.approx(2 / 3))
    assert (judge.scored + judge.failed, judge.value) == (SAMPLES, 1.0)
    assert status == (3 if judge.failed else 0)
    return status == 0


@pytest.mark.prove
def test_ninety_of_a_hundred_runs_with_a_flaky_judge_are_green_at_the_first_try(tmp_path: Path) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(0)}) as made:
        green = sum(is_green(made, seed) for seed in range(100))
    print(f"{green} of 100 runs were green at the first try")
    assert green >= 90


def test_a_run_with_a_flaky_judge_is_green_and_says_how_often_it_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(1)}) as made:
        assert is_green(made, 1)
        again = made.row("r1").asked_again["judge"]
        asked = made.asked()
        assert 0 < again < 20
        assert asked == {"m": SAMPLES, "judge": SAMPLES + again}
        [judge] = made.row("r1").judges
        assert (judge.answers, judge.tokens_in) == (SAMPLES + again, 5 * (SAMPLES + again))  # all of them were paid for
        assert f"asked again because a verdict was unusable: `judge` {again} ×" in capsys.readouterr().err


def test_without_retries_a_verdict_is_asked_for_once(tmp_path: Path) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(1)}) as made:
        assert made.run("--judge-retries", "0") == 3
        assert made.asked() == {"m": SAMPLES, "judge": SAMPLES}
        assert made.counts()["exact"] == (SAMPLES, 0)
        scored, failed = made.counts()["judge"]
        assert scored + failed == SAMPLES
        assert (made.row().missing_scores, made.row().asked_again) == ({"judge": failed}, {})


def test_a_judge_that_is_down_takes_no_score_and_no_gate_of_another_scorer_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with project(
        tmp_path, [EXACT, scorer("judge"), scorer("second")], {"judge": down, "second": flaky(2, 0.0)}, 12
    ) as made:
        assert made.run() == 3
        assert made.counts() == {"exact": (12, 0), "judge": (0, 12), "second": (12, 0)}
        row = made.row()
        assert (row.score, row.scored, row.failed, row.complete) == (pytest.approx(2 / 3), 12, 12, False)
        assert (row.coverage, row.bounds, row.missing_scores) == (1.0, None, {"judge": 12})
        assert made.board().overall_bounds is None
        shown = capsys.readouterr()
        assert "12 of 12 attempts failed (12 × scorer/auth): 12 without the score of `judge`" in shown.err
