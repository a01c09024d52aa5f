"""A judge's bad day is the judge's: its verdicts are asked for again, and no other score is lost with one of them.

A model and its judges are real servers on the loopback interface; what they say is a function of what they are asked.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from tests.evaluators.loopback import Answer, Loopback, serving

from assay.cli.main import main
from assay.results.board.board_types import Leaderboard, TaskRow, read_leaderboard_file
from assay.results.diff.comparison import diff
from assay.results.report_settings import View
from assay.viewer.api import Api, Params
from assay.viewer.run_list import RunList

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

    def run(self, *options: str, folder: str = "r") -> int:
        shutil.rmtree(self.folder / ".assay", ignore_errors=True)  # no answer comes from another run
        always = ["--model", "openai:m", "--run-dir", folder, "--quiet", "--retries", "0", "--patience", "0"]
        return main(["run", "t.yaml", *always, *options])

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


def test_a_gate_is_about_its_own_scorer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(1)}, 12) as made:
        made.says["judge"] = lambda request: "correct" if "q1:" in request["messages"][1]["content"] else None
        assert made.run("--gate", "t.exact >= 0.5", "--gate", "t >= 0.5") == 3  # met, and finished with failures
        assert "|      1 | 0.083 – 1.000 |    8.3 % |     11 |" in capsys.readouterr().out
        assert made.run("--gate", "t.judge >= 0.5") == 1
        assert "cannot tell" in capsys.readouterr().err
        assert made.run("--gate", "t.judge >= 0.05") == 3  # met whatever the missing verdicts would have been
        assert made.run("--gate", "t.exact.coverage == 1") == 3
        for coverage in ("coverage", "t.coverage", "t.judge.coverage"):
            assert made.run("--gate", f"{coverage} >= 0.9") == 1
            assert f"{coverage} >= 0.9: 0.08333 is not >= 0.9" in capsys.readouterr().err


def test_a_rerun_asks_only_for_the_verdicts_that_are_missing(tmp_path: Path) -> None:
    with project(
        tmp_path, [EXACT, scorer("judge"), scorer("second")], {"judge": flaky(3), "second": flaky(4, 0.0)}
    ) as made:
        assert made.run("--judge-retries", "0") == 3
        missing = made.row().missing_scores["judge"]
        made.asked()
        made.says["judge"] = down
        assert made.run() == 3  # a second bad day loses nothing
        assert made.counts() == {"exact": (SAMPLES, 0), "judge": (SAMPLES - missing, missing), "second": (SAMPLES, 0)}
        assert made.asked() == {"judge": missing}
        made.says["judge"] = flaky(5, 0.0)
        assert made.run() == 0
        assert made.asked() == {"judge": missing}
        row = made.row()
        assert made.counts() == {"exact": (SAMPLES, 0), "judge": (SAMPLES, 0), "second": (SAMPLES, 0)}
        assert (row.failed, row.complete, row.tokens_in) == (0, True, 5 * SAMPLES)
        assert {judge.model: judge.answers for judge in row.judges} == {
            "openai:judge": SAMPLES + missing,  # the server that was down answered nothing
            "openai:second": SAMPLES,
        }
        assert made.run() == 0
        assert not made.asked()


def test_an_evaluator_that_is_down_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    answers = iter([Answer(b"not json")] * 4 + [Answer(b'{"score": 0.5}')] * 4)
    with serving(lambda payload: next(answers)) as service:
        evaluator = {"type": "evaluator", "key": "service", "url": service.url}
        with project(tmp_path, [EXACT, evaluator], {}, 4) as made:
            assert made.run() == 3
            assert [(each.scored, each.failed) for each in made.row().aggregates] == [(4, 0), (0, 4)]
            assert (made.run(), made.asked()) == (0, {"m": 4})
            assert [(each.scored, each.failed) for each in made.row().aggregates] == [(4, 0), (4, 0)]


def test_a_rule_that_lacks_its_score_fails_the_whole_attempt_until_the_score_is_there(tmp_path: Path) -> None:
    rule = {"expression": "{{ scores.judge.is_correct }}", "op": "is_false"}
    actions = [{"action": "exclude_from_metrics", "key": "wrong", "filter": rule}]
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": down}, 6, actions=actions) as made:
        assert made.run() == 3
        assert made.counts() == {"exact": (0, 6), "judge": (0, 6)}
        made.asked()
        made.says["judge"] = lambda request: "incorrect" if "q1:" in request["messages"][1]["content"] else "correct"
        assert made.run() == 0
        assert made.asked() == {"judge": 6}
        assert (made.counts(), made.row().excluded) == ({"exact": (5, 0), "judge": (5, 0)}, 1)


def test_shards_are_continued_and_merged_with_every_score_and_every_token(tmp_path: Path) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(6, 0.5)}, 20) as made:
        for shard in ("1/2", "2/2"):
            assert made.run("--judge-retries", "0", "--shard", shard) == 3
        assert main(["merge", "r"]) == 3
        missing = made.row().missing_scores["judge"]
        assert (made.counts()["exact"], made.counts()["judge"]) == ((20, 0), (20 - missing, missing))
        made.asked()
        made.says["judge"] = flaky(7, 0.0)
        for shard in ("1/2", "2/2"):
            assert made.run("--shard", shard) == 0
        assert made.asked() == {"judge": missing}
        assert main(["merge", "r"]) == 0
        assert made.counts() == {"exact": (20, 0), "judge": (20, 0)}
        assert (made.row().tokens_in, made.row().judge_tokens_in) == (5 * 20, 5 * (20 + missing))


def test_a_rescore_keeps_verdicts_and_says_why_others_are_missing(tmp_path: Path) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(3)}, 30) as made:
        assert made.run("--judge-retries", "0") == 3
        before = made.row()
        made.asked()
        assert main(["rescore", "r", "--run-dir", "again", "--quiet"]) == 3
        assert not made.asked()
        assert made.counts("again") == made.counts()
        assert made.row("again").failures == before.failures


def test_a_scorer_without_its_sandbox_takes_no_other_score_and_is_continued_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_ALLOW_UNSANDBOXED", raising=False)
    code = {"type": "code_exec", "key": "code", "expressions": "{{ [sample.q] }}"}
    with project(tmp_path, [EXACT, code], {}, 3) as made:
        assert made.run("--min-sandbox", "U") == 3
        assert [(each.scored, each.failed) for each in made.row().aggregates][:2] == [(3, 0), (0, 3)]
        assert (made.row().refused, made.row().missing_scores) == (None, {"code": 3})
        assert made.asked() == {"m": 3}
        assert made.run() == 0
        assert not made.asked()
        assert [(each.scored, each.failed) for each in made.row().aggregates][:2] == [(3, 0), (3, 0)]


def test_every_surface_shows_the_scores_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with project(tmp_path, [EXACT, scorer("judge")], {"judge": flaky(3)}, 30) as made:
        assert made.run("--judge-retries", "0", "--include-per-example") == 3
        failed = made.row().missing_scores["judge"]
        examples = made.row().per_example
        assert examples is not UNSET
        lacking = [each for each in examples if each.missing is not UNSET]
        assert len(lacking) == failed > 0
        assert {(each.failure, tuple(each.values)) for each in lacking} == {(None, ("exact",))}

        assert main(["export", "r", "--output", "r.csv"]) == 0
        with (tmp_path / "r.csv").open(newline="") as file:
            broken = [row for row in csv.DictReader(file) if row["failure_scorer"] == "judge"]
        assert len(broken) == failed
        assert all(row["outcome"] in ("right", "wrong") and not row["judge.is_correct"] for row in broken)

        assert made.run("--judge-retries", "0", folder="same") == 3
        [compared] = diff(tmp_path / "r", tmp_path / "same", View()).tasks
        assert compared.comparison is not None
        assert compared.comparison.n == 30  # every pair of the first scorer

        capsys.readouterr()
        assert main(["show", "r", "--sample", str(lacking[0].id)]) == 0
        shown = capsys.readouterr().out
        assert "unusable verdict" in shown
        assert "is_correct" in shown

        api = Api(RunList([tmp_path]))
        listed = api.samples(Params([("run", "r"), ("failure", "scorer/bad_output")]))
        assert listed["total"] == failed
        assert {row["outcome"] for row in listed["rows"]} <= {"right", "wrong"}
        whole = api.sample(Params([("run", "r"), ("key", listed["rows"][0]["key"])]))
        assert [score["name"] for score in whole["record"]["scores"]] == ["exact"]
        assert [each["scorer"] for each in whole["record"]["failures"]] == ["judge"]
