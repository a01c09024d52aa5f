"""The model behind judge keys that nothing describes, on a server: of a suite, the user, a folder or the project."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_openai import FakeServer, fake_openai
from tests.shop import PROJECT, make_shop

from assay.core.errors import UsageError
from assay.results.report_settings import View
from assay.results.standings.cells import compare_cells
from assay.runs.entry import aevaluate
from assay.runs.evaluate import EvaluationResult

JUDGED = """\
key: {key}
display_name: {key}
description: Refusals.
definition:
  dataset: {{key: rows}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: "{{{{ sample.a }}}}"}}]}}
  scorers:
    - type: refusal
      key: refusal
      question: "{{{{ sample.a }}}}"
      model_key: {judge}
      metrics: [{{type: mean, key: refused, field: refused, lower_is_better: false}}]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_shop(tmp_path)
    (tmp_path / "tasks" / "geo" / "open.yaml").write_text(JUDGED.format(key="open", judge="somebody"))
    (tmp_path / "tasks" / "geo" / "own.yaml").write_text(JUDGED.format(key="own", judge="strict"))
    (tmp_path / "tasks" / "support" / "open.yaml").write_text(JUDGED.format(key="open", judge="somebody"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def says(label: str) -> Any:
    return lambda prompt: json.dumps({"reasoning": "scripted", "label": label})


def with_judges(strict: FakeServer, mild: FakeServer, more: str = "judge: mild\n", suites: str = "") -> None:
    models = f'models: {{strict: "vllm:strict@{strict.base_url}", mild: "vllm:mild@{mild.base_url}"}}\n'
    Path("assay.yaml").write_text(PROJECT.replace("folders:", f"{more}{models}folders:") + suites)


def judged(
    *names: str, more: str = "judge: mild\n", suites: str = "", **options: Any
) -> tuple[EvaluationResult, list[int]]:
    """The result of these tasks, and how often each judge was called."""

    async def run() -> tuple[EvaluationResult, list[int]]:
        async with fake_openai(says("refuses")) as strict, fake_openai(says("answers")) as mild:
            with_judges(strict, mild, more, suites)
            result = await aevaluate(list(map(Path, names)), "toy", cache=False, **options)
            return result, [len(strict.bodies), len(mild.bodies)]

    return asyncio.run(run())


def scores(result: EvaluationResult) -> list[dict[str, float | None]]:
    return [{row.task: row.score for row in run.leaderboard.tasks} for run in result.runs]


def test_the_projects_judge_is_behind_keys_that_nothing_describes(shop: Path) -> None:
    result, calls = judged("geo/open", "geo/own")
    assert scores(result) == [{"geo/open": 0.0, "geo/own": 1.0}]
    assert calls == [3, 3]
    assert "the model behind the key `somebody` is `mild`, the project's judge" in result.warnings


def test_a_folder_has_a_judge_of_its_own(shop: Path) -> None:
    more = "judge: mild\ndefaults: {judge: mild}\n"
    project = PROJECT.replace("{owner: support,", "{judge: strict, owner: support,")
    assert project != PROJECT

    async def run() -> EvaluationResult:
        async with fake_openai(says("refuses")) as strict, fake_openai(says("answers")) as mild:
            models = f'models: {{strict: "vllm:strict@{strict.base_url}", mild: "vllm:mild@{mild.base_url}"}}\n'
            Path("assay.yaml").write_text(project.replace("folders:", f"{more}{models}folders:"))
            return await aevaluate([Path("geo/open"), Path("support/open")], "toy", cache=False)

    assert scores(asyncio.run(run())) == [{"geo/open": 0.0, "support/open": 1.0}]


def test_the_users_judge_comes_before_the_projects_and_after_what_is_described(shop: Path) -> None:
    result, _ = judged("geo/open", "geo/own", judge="strict")
    assert scores(result) == [{"geo/open": 1.0, "geo/own": 1.0}]
    assert "the model behind the key `somebody` is `strict`, from --judge" in result.warnings
    named, _ = judged("geo/open", "geo/own", "support/open", models={"strict": "mild"}, judge="strict")
    assert scores(named) == [{"geo/open": 1.0, "geo/own": 0.0, "support/open": 1.0}]


def test_a_judge_that_nothing_asks_for_is_refused(shop: Path) -> None:
    with pytest.raises(UsageError, match="the judge `strict` from --judge judges nothing"):
        judged("geo/own", judge="strict")
    with pytest.raises(UsageError, match=r"unknown model .stric"):
        judged("geo/open", judge="stric")


def test_judges_are_an_axis_of_a_matrix(shop: Path) -> None:
    suites = "  judges: {select: [geo/open], matrix: {judge: [strict, mild]}}\n"
    result, calls = judged("@judges", more="", suites=suites)
    assert scores(result) == [{"geo/open": 1.0}, {"geo/open": 0.0}]
    assert calls == [3, 3]
    (pair,) = compare_cells([run.folder for run in result.runs], View())
    assert (pair.axis, pair.a, pair.b, pair.difference) == ("judge", "judge=strict", "judge=mild", -1.0)
