"""The plugin in real sessions of pytest: scores, failures that are no scores, assertions, the summary, workers."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.end_to_end.commands import fake_server

# pytester forgets what a session has imported, and numpy cannot be imported twice
import assay.pytest_plugin.assertions
import assay.pytest_plugin.runs
import assay.pytest_plugin.summary  # noqa: F401

pytest_plugins = ["pytester"]

INSTALLED = any(point.name == "assay" for point in entry_points(group="pytest11"))
LOADED = [] if INSTALLED else ["-p", "assay.pytest_plugin"]
"""An environment that was made before the entry point was declared loads the plugin by name."""

MODELS = """
import pytest

ANSWERS = {"France": "Paris", "Italy": "Rome", "Germany": "Bonn", "Spain": "Madrid"}

def model(prompt):
    return next(answer for country, answer in ANSWERS.items() if country in prompt)

def flaky(prompt):
    if "Italy" in prompt:
        raise ConnectionError("nobody listens")
    return model(prompt)

def dead(prompt):
    raise ConnectionError("nobody listens")

AT_ONCE = {"retries": 0}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Four questions, of which `model` gets three right."""
    lines = [
        {"id": country, "prompt": f"Capital of {country}?", "targets": [capital], "metric": "exact_match"}
        for country, capital in (("France", "Paris"), ("Italy", "Rome"), ("Germany", "Berlin"), ("Spain", "Madrid"))
    ]
    pytester.mkdir("tasks").joinpath("capitals.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    return pytester


def run(project: pytest.Pytester, tests: str, *flags: str) -> pytest.RunResult:
    project.makepyfile(test_it=MODELS + tests)
    return project.runpytest_inprocess(*LOADED, "-p", "no:randomly", "-p", "no:cacheprovider", *flags)


def test_a_score_that_is_high_enough_passes_and_the_summary_shows_it(project: pytest.Pytester) -> None:
    result = run(project, 'def test_it(assay_run):\n    assert assay_run("tasks", model)["capitals"].score >= 0.7\n')
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*= assay =*", "| capitals | test_it:model | exact_match (normalized) | 0.750 | * to * | *0 | *4 |", "run: *"]
    )


def test_a_failed_comparison_shows_the_interval_and_the_worst_samples(project: pytest.Pytester) -> None:
    result = run(project, 'def test_it(assay_run):\n    assert assay_run("tasks", model)["capitals"].score >= 0.9\n')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*assert 0.75 >= 0.9",
            "E*capitals: score 0.750, 95 % interval 0.301 to 0.954, over 4 of 4 attempts",
            "*assay: worst samples of capitals*",
            "capitals/Germany: score 0.0  input 'Capital of Germany?'  answer 'Bonn'  targets 'Berlin'",
            "all samples: assay show *",
        ]
    )
    result.stdout.no_fnmatch_line("*capitals/France*")


def test_a_server_that_is_dead_is_an_error_and_no_failed_assertion(project: pytest.Pytester) -> None:
    tests = 'def test_it(assay_run):\n    assert assay_run("tasks", dead, **AT_ONCE)["capitals"].score >= 0.7\n'
    result = run(project, tests)
    result.assert_outcomes(errors=1, failed=0)
    result.stdout.fnmatch_lines(
        ["*ERROR at call of test_it*", "*capitals has no score: *ConnectionError: nobody listens*"]
    )
    result.stdout.no_fnmatch_line("*AssertionError*")


def test_failed_attempts_decide_nothing_that_they_could_have_decided_otherwise(project: pytest.Pytester) -> None:
    tests = """
def score(assay_run):
    return assay_run("tasks", flaky, **AT_ONCE)["capitals"].score  # between 0.5 and 0.75

def test_holds_whatever_they_scored(assay_run):
    assert score(assay_run) >= 0.5

def test_does_not_hold_whatever_they_scored(assay_run):
    assert score(assay_run) > 0.8

def test_is_open(assay_run):
    assert score(assay_run) >= 0.6

def test_is_open_for_equality_too(assay_run):
    assert score(assay_run) == pytest.approx(2 / 3) or score(assay_run) == 2 / 3
"""
    result = run(project, tests)
    result.assert_outcomes(passed=1, failed=1, errors=1 + 1)
    result.stdout.fnmatch_lines(
        ["*1 of 4 attempts have no score (1 × model/connection): the score lies between 0.500 and 0.750*"]
    )


def test_a_budget_that_is_used_up_is_named_and_what_remains_has_not_failed(project: pytest.Pytester) -> None:
    tests = """
def test_it(assay_run):
    board = assay_run("tasks", "stub:Paris", budget_tokens=5, concurrency=1, cache=False)
    assert board["capitals"].score >= 0.5
"""
    result = run(project, tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "E *attempts have no score (* not yet run): *the budget of 5 tokens (--budget-tokens) is used up. See: *",
            "| task * | failed | remaining | total |",
        ]
    )


def test_two_scores_are_compared_only_where_the_failures_of_neither_could_decide(project: pytest.Pytester) -> None:
    tests = """
def scores(assay_run):  # 0.75 with limit 4, 1.0 with limit 2, and between 0.5 and 0.75
    runs = [("tasks", model, {}), ("tasks", model, {"limit": 2}), ("tasks", flaky, AT_ONCE)]
    return [assay_run(tasks, each, **settings)["capitals"].score for tasks, each, settings in runs]

def test_decided(assay_run):
    whole, right, flaky = scores(assay_run)
    assert right > flaky
    assert flaky < right
    assert whole >= flaky

def test_open(assay_run):
    whole, right, flaky = scores(assay_run)
    assert whole > flaky

def test_open_the_other_way(assay_run):
    whole, right, flaky = scores(assay_run)
    assert flaky < whole

def test_open_for_inequality_too(assay_run):
    assert scores(assay_run)[2] != 0.9

@pytest.mark.parametrize("compute", ["score - 1", "1 - score", "round(score, 1)", "score * 9", "abs(score)", "-score"])
def test_no_number_is_made_of_it(assay_run, compute):
    assert eval(compute, {"score": scores(assay_run)[2]}) < 200

def test_numbers_are_made_of_a_whole_one(assay_run):
    score = scores(assay_run)[0]
    assert (score - 0.25, 1 - score, round(score, 1), score * 100) == (0.5, 0.25, 0.8, 75)
"""
    run(project, tests).assert_outcomes(passed=2, errors=3 + 6)


def test_a_rate_limit_of_a_real_server_is_an_error(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-plugin-0123456789abcdef")
    line = {"id": "1", "prompt": "behave: status 429\ncompute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
    Path("limited.jsonl").write_text(json.dumps(line) + "\n")
    with fake_server() as server:
        options = {"model_options": {"base_url": server.base_url}, "retries": 0, "patience_seconds": 0}
        tests = f"""
def test_limited(assay_run):
    assert assay_run("limited.jsonl", **{options!r})["limited"].score == 1.0
"""
        result = run(project, tests, "--assay-model", "openai:m")
    result.assert_outcomes(errors=1)
    assert "sk-plugin-0123456789abcdef" not in result.stdout.str()


def test_a_wrong_name_or_path_is_reported_with_the_nearest(project: pytest.Pytester) -> None:
    tests = """
def test_name(assay_run):
    assert assay_run("tasks", model)["capital"].score

def test_path(assay_run):
    assay_run("task", model)
"""
    result = run(project, tests)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*Did you mean `capitals`?*", "*task: no such file or folder. Did you mean `tasks`?*"])


def test_a_board_is_made_once_and_shared_by_fixtures_of_every_scope(project: pytest.Pytester) -> None:
    tests = """
ASKED = []

def counted(prompt):
    ASKED.append(prompt)
    return model(prompt)

@pytest.fixture(scope="module")
def board(assay_run):
    return assay_run("tasks", counted)

def test_one(board):
    assert board.overall > 0.7
    assert board["capitals"].low < 0.75 < board["capitals"].high

def test_two(assay_run, board):
    assert assay_run("tasks", counted) is board
    assert len(ASKED) == 4
"""
    run(project, tests).assert_outcomes(passed=2)


def test_assertions_of_one_prompt_are_separate_tests_and_it_is_sent_once(project: pytest.Pytester) -> None:
    tests = """
ASKED = []

def greeter(prompt):
    ASKED.append(prompt)
    return "Hello Ada, welcome!"

@pytest.mark.assay_assertions(
    "Greet Ada", ["contains: Ada", "not-contains: sorry", {"type": "equals", "value": "Hi"}], model=greeter
)
def test_greeting(assertion):
    assert assertion.holds

def test_asked_once():
    assert ASKED == ["Greet Ada"]
"""
    result = run(project, tests, "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["*test_greeting?contains-Ada? PASSED*", "*test_greeting?not-contains-sorry? PASSED*", "*?equals-Hi? FAILED*"]
    )
    result.stdout.fnmatch_lines(["*<equals-Hi: input 'Greet Ada', answer 'Hello Ada, welcome!'>.holds*"])


def test_a_prompt_that_is_not_answered_is_an_error_of_each_of_its_tests(project: pytest.Pytester) -> None:
    tests = """
def broken(prompt):
    raise ValueError("no weights")

@pytest.mark.assay_assertions("Greet Ada", ["contains: Ada", "contains: Hello"], model=broken)
def test_greeting(assertion):
    assert assertion.holds
"""
    result = run(project, tests)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*'Greet Ada' was not answered: model/exception: ValueError: no weights*"])


def test_an_assertion_that_cannot_be_checked_is_an_error_of_its_own_test_alone(project: pytest.Pytester) -> None:
    tests = """
@pytest.mark.assay_assertions("Greet Ada", ["contains: Ada", "regex: (", "contains: Bob"], model=lambda prompt: prompt)
def test_greeting(assertion):
    assert assertion.holds
"""
    result = run(project, tests)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*the assertion *regex* cannot be checked: *bad regular expression*"])


def test_an_assertion_that_there_is_not_is_reported_when_tests_are_collected(project: pytest.Pytester) -> None:
    tests = '@pytest.mark.assay_assertions("x", ["contain: y"])\ndef test_it(assertion):\n    assert assertion.holds\n'
    result = run(project, tests)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*unknown assertion `contain`. Did you mean `contains`?*"])


def test_model_limit_and_folder_come_from_the_ini_file_and_flags_win(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nassay_model = test_it:model\nassay_run_dir = kept\nassay_limit = 2\n")
    project.syspathinsert()
    tests = 'def test_it(assay_run):\n    assert assay_run("tasks").leaderboard.tasks[0].total == {n}\n'
    run(project, tests.format(n=2)).assert_outcomes(passed=1)
    [kept] = Path("kept").iterdir()
    before = kept.joinpath("journal.jsonl").read_bytes()
    run(project, tests.format(n=2)).assert_outcomes(passed=1)
    assert kept.joinpath("journal.jsonl").read_bytes() == before  # resumed: no model was called again
    run(project, tests.format(n=3), "--assay-limit", "3").assert_outcomes(passed=1)


def test_kept_runs_of_functions_are_resumed_and_changed_tasks_start_new_ones(project: pytest.Pytester) -> None:
    tests = """
from pathlib import Path

def counted(prompt):
    with Path("asked").open("a") as asked:
        asked.write(".")
    return model(prompt)

def always(prediction, targets, extras):
    return 1.0

def test_it(assay_run):
    assert assay_run("tasks", counted)["capitals"].score >= 0.7

def test_metric(assay_run):
    assert assay_run("tasks", counted, metric=always)["capitals"].score == 1.0
"""
    for _ in range(2):
        run(project, tests, "--assay-run-dir", "kept").assert_outcomes(passed=2)
        assert len(Path("asked").read_text()) == 8
        assert len([*Path("kept").iterdir()]) == 2
    changed = Path("tasks/capitals.jsonl")
    changed.write_text(changed.read_text().replace("Capital of Spain", "The capital of Spain"))
    run(project, tests, "--assay-run-dir", "kept").assert_outcomes(passed=2)
    assert len([*Path("kept").iterdir()]) == 4


def test_two_models_that_look_the_same_are_two_runs(project: pytest.Pytester) -> None:
    tests = """
class Fixed:
    name = "fixed"

    def __init__(self, answer):
        self.answers = [answer]

    def generate(self, prompts):
        return self.answers * len(prompts)

    def __repr__(self):
        return "Fixed()"

@pytest.mark.parametrize("answer, score", [("Paris", 0.25), ("Oslo", 0.0)])
def test_it(assay_run, answer, score):
    assert assay_run("tasks", Fixed(answer))["capitals"].score == score
"""
    run(project, tests).assert_outcomes(passed=2)


def test_workers_send_what_they_measured_home(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    tests = """
@pytest.mark.parametrize("least", [0.7, 0.9])
def test_it(assay_run, least):
    assert assay_run("tasks", model, limit=4 if least < 0.8 else 3)["capitals"].score >= least

def test_dead(assay_run):
    assert assay_run("tasks", dead, **AT_ONCE)["capitals"].score >= 0.7
"""
    project.makepyfile(test_it=MODELS + tests)
    result = project.runpytest_subprocess(*LOADED, "-n", "2", "--assay-run-dir", "kept", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*= assay =*",
            "| capitals | test_it:model | *| 0.750 |*",
            "| capitals | test_it:model | *| 0.667 |*",
            "| capitals | test_it:dead  | *",
        ]
    )
    result.stdout.fnmatch_lines(["*assay: worst samples of capitals*", "capitals/Germany: *"])


def test_a_project_that_does_not_use_it_pays_nothing_and_sees_nothing(project: pytest.Pytester) -> None:
    tests = """
import sys

def test_it():
    heavy = {"msgspec", "numpy", "yaml", "asyncio", "assay.core", "assay.runs"}
    assert not heavy & {*sys.modules}
    assert "assay.pytest_plugin" in sys.modules
"""
    project.makepyfile(test_it=tests)
    flags = [
        "-p",
        "no:anyio",
        "-p",
        "no:asyncio",
        "-p",
        "no:hypothesispytest",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
    ]
    result = project.runpytest_subprocess(*LOADED, *flags)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*assay =*")


@pytest.mark.skipif(not INSTALLED, reason="assay was installed here before it declared its entry point")
def test_it_can_be_switched_off(project: pytest.Pytester) -> None:
    result = run(project, "def test_it(assay_run):\n    pass\n", "-p", "no:assay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'assay_run' not found*"])


def test_the_entry_point_is_declared() -> None:
    declared = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert declared["project"]["entry-points"]["pytest11"] == {"assay": "assay.pytest_plugin"}


def test_importing_the_plugin_imports_nothing_of_assay() -> None:
    code = "import pytest, sys; import assay.pytest_plugin; print([n for n in sys.modules if n.startswith('assay.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['assay.pytest_plugin']"
