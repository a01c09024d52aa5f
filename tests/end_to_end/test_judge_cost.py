"""What judges and simulated users cost: priced by their own names, told apart, and part of the budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay, fake_server

RUN = """\
models:
  - {key: asked, display_name: A, config: {url: "%(url)s", model_key: fake, api_key: $FAKE_API_KEY}}
  - {key: judge, display_name: J, config: {url: "%(url)s", model_key: fake-judge, api_key: $FAKE_API_KEY}}
  - {key: user, display_name: U, config: {url: "%(url)s", model_key: fake-user, api_key: $FAKE_API_KEY}}
datasets:
  - {key: sums, display_name: S, source: {type: local, file_path: sums.jsonl}}
tasks:
  - key: sums
    display_name: Sums
    description: ""
    definition:
      dataset: {key: sums}
      solver:
        type: multi_turn_solver
        message_builders:
          - {type: generate_message, model_key: user, output_role: user,
             extra_input_messages: [{type: chat_message, role: user, content: "Say: compute {{ sample.a }} + 1"}]}
          - {type: generate}
      scorers:
        - {type: model_as_a_judge_scorer, key: rated, model_key: judge, user_prompt: "{{ sample.verdict }}"}
evaluation: {key: e, display_name: E, task_specifications: [{task_key: sums, model_key: asked}]}
"""
PRICES = """\
date: 2026-02-03
models:
  fake: {input: 100, output: 100}
  fake-judge: {input: 1000, output: 1000}
  fake-user: {input: 10000, output: 10000}
"""


@pytest.fixture
def project(tmp_path: Path) -> Any:
    def make(url: str, samples: int, bad: int = 0, prices: str = PRICES) -> Path:
        (tmp_path / "run.yaml").write_text(RUN % {"url": url})
        rows = [{"a": n, "verdict": "nonsense" if n < bad else "1"} for n in range(samples)]
        (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "prices.yaml").write_text(prices)
        (tmp_path / ".env").write_text("FAKE_API_KEY=none\n")
        return tmp_path

    return make


def board(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "leaderboard.json").read_text())
    return found


def test_judges_and_simulated_users_are_priced_by_their_own_names(project: Any) -> None:
    with fake_server() as server:
        folder = project(server.base_url, 6, bad=2)
        done = assay("run", "run.yaml", "--run-dir", "out", "--no-cache", cwd=folder)
        assert done.returncode == 3, done.stderr  # two verdicts cannot be read
        row = board(folder)["tasks"][0]
        judges = {each["model"].rpartition(":")[2]: each for each in row["judges"]}
        assert set(judges) == {"fake-judge (J)", "fake-user (U)"}
        # a verdict no one could read was paid for all the same
        assert (judges["fake-judge (J)"]["answers"], judges["fake-user (U)"]["answers"]) == (6 + 2 * 2, 6)
        for name, per_token in (("fake-judge (J)", 1e-3), ("fake-user (U)", 1e-2)):
            tokens = judges[name]["tokens_in"] + judges[name]["tokens_out"]
            assert tokens > 0
            assert judges[name]["cost"]["amount"] == pytest.approx(tokens * per_token)
        assert row["cost"]["amount"] == pytest.approx((row["tokens_in"] + row["tokens_out"]) * 1e-4)
        assert row["judge_cost"]["amount"] == pytest.approx(sum(each["cost"]["amount"] for each in row["judges"]))
        assert "judges' cost" in done.stdout
        assert "fake-user" in done.stdout
        assert "dated 2026-02-03" in done.stderr + done.stdout

        again = assay("run", "run.yaml", "--run-dir", "out", "--no-cache", cwd=folder)
        assert again.returncode == 3
        # the two that failed were retried, and what they cost came on top
        assert board(folder)["tasks"][0]["judges"][0]["answers"] == 10 + 2 * 3
        many = assay("leaderboard", "out", cwd=folder)
        assert "judges' cost" in many.stdout


def test_a_judge_on_this_machine_without_a_price_has_no_cost_and_no_budget_of_money(project: Any) -> None:
    with fake_server() as server:
        folder = project(server.base_url, 2, prices=PRICES.replace("fake-judge", "another"))
        done = assay("run", "run.yaml", "--run-dir", "out", cwd=folder)
        assert done.returncode == 0, done.stderr
        costs = {each["model"]: each["cost"] for row in board(folder)["tasks"] for each in row["judges"]}
        assert {name: cost is None for name, cost in costs.items()} == {name: "fake-judge" in name for name in costs}
        assert "unknown" not in done.stdout + done.stderr
        refused = assay("run", "run.yaml", "--run-dir", "other", "--budget-cost", "1", cwd=folder)
        assert refused.returncode == 2
        assert "--budget-cost needs the price of `" in refused.stderr
        assert "fake-judge" in refused.stderr


@pytest.mark.parametrize("limit", [("--budget-cost", "4"), ("--budget-tokens", "900")])
def test_the_budget_counts_judges_stops_cleanly_and_goes_on(project: Any, limit: tuple[str, str]) -> None:
    with fake_server() as server:
        folder = project(server.base_url, 40)
        command = ["run", "run.yaml", "--run-dir", "out", "--no-cache", "--concurrency", "2"]
        first = assay(*command, *limit, cwd=folder)
        assert first.returncode == 3
        assert f"({limit[0]}) is used up" in first.stdout + first.stderr
        row = board(folder)["tasks"][0]
        assert 0 < row["scored"] < 40
        assert row["failed"] == 0
        # the evaluated model alone would have been far below the limit
        spent = {
            "--budget-cost": board(folder)["cost"]["amount"],
            "--budget-tokens": row["tokens_in"] + row["tokens_out"],
        }
        assert spent[limit[0]] < float(limit[1]) / 2

        same = assay(*command, *limit, cwd=folder)
        assert same.returncode == 3
        # what earlier sessions spent is known: at most the attempts in flight can still fit
        assert board(folder)["tasks"][0]["scored"] <= row["scored"] + 2

        more = assay(*command, limit[0], "100000", cwd=folder)
        assert more.returncode == 0, more.stderr
        assert board(folder)["tasks"][0]["scored"] == 40
    assert len((folder / "out" / "journal.jsonl").read_text().splitlines()) == 40  # nothing was made twice


def test_a_dry_run_counts_the_requests_to_judges(project: Any) -> None:
    with fake_server() as server:
        folder = project(server.base_url, 7)
        done = assay("run", "run.yaml", "--dry-run", "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        task = json.loads(done.stdout)["tasks"][0]
        found = {each["model"].rpartition(":")[2]: each for each in task["judges"]}
        assert {name: each["requests"] for name, each in found.items()} == {"fake-judge (J)": 7, "fake-user (U)": 7}
        assert found["fake-judge (J)"]["least_cost"] == pytest.approx(found["fake-judge (J)"]["tokens_in"] * 1e-3)
        table = assay("run", "run.yaml", "--dry-run", cwd=folder)
        assert "| judge " in table.stdout
        assert "their cost is that of their prompts alone" in table.stderr + table.stdout
        assert server.seen() == {}
