"""The pytest plugin: a fixture that runs tasks, scores to assert on, and assertions about one prompt as separate tests.

pytest loads this file in every project that has assay installed, so it imports nothing until
a test uses one of its fixtures.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from assay.pytest_plugin.assertions import PromptAssertion
    from assay.pytest_plugin.measured import MeasuredScore
    from assay.pytest_plugin.runs import Runs

_RUNS = pytest.StashKey["Runs"]()
_EXPLAINED = pytest.StashKey[list["MeasuredScore"]]()
"""The scores of the comparison that has just failed."""
MARKER = "assay_assertions"
CANNOT_MEASURE = "assay_cannot_measure"
NEW_ROWS = "assay_rows"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay", "measuring language models")
    for name, metavar, what in (
        ("model", "NAME", "the model that `assay_run` calls, named as for `assay run --model`"),
        ("run-dir", "DIR", "keep runs here and resume them (default: new runs in a temporary folder of the session)"),
        ("limit", "N", "only the first N samples of each task"),
    ):
        group.addoption(f"--assay-{name}", metavar=metavar, default=None, help=what)
        parser.addini(f"assay_{name.replace('-', '_')}", f"{what} (--assay-{name})", default=None)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_EXPLAINED] = []
    config.addinivalue_line(
        "markers", f"{MARKER}(prompt, assertions, model=None): each assertion about the answer is a separate test"
    )


@pytest.fixture(scope="session")
def assay_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs tasks: `board = assay_run("tasks/capitals.jsonl"); assert board["capitals"].score >= 0.9`."""
    from assay.pytest_plugin.runs import Runs

    config = request.config
    settings = {name: _setting(config, name) for name in ("model", "run_dir", "limit")}
    runs = Runs(**settings, temporary=lambda: tmp_path_factory.mktemp("assay"), worker=_worker(config))
    config.stash[_RUNS] = runs
    return runs


@pytest.fixture
def assertion(request: pytest.FixtureRequest, assay_run: Runs) -> PromptAssertion:
    """One assertion of the marker `assay_assertions`, and whether it holds."""
    __tracebackhide__ = True
    from assay.pytest_plugin.assertions import PromptAssertion, read_assertions
    from assay.pytest_plugin.measured import CannotMeasureError

    mark = request.node.get_closest_marker(MARKER)
    if mark is None:
        raise CannotMeasureError(f"the fixture `assertion` needs the marker {MARKER}(prompt, assertions)")
    prompt, asserted, options = _parts_of(mark)
    answer = assay_run.answer(prompt, read_assertions(asserted), options.get("model"))
    return PromptAssertion(prompt, request.param, answer)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARKER)
    if mark is None or "assertion" not in metafunc.fixturenames:
        return
    from assay.pytest_plugin.assertions import name_of, read_assertions

    _, asserted, _ = _parts_of(mark)
    read = read_assertions(asserted)
    metafunc.parametrize("assertion", read, indirect=True, ids=[name_of(item) for item in read])


def _parts_of(mark: pytest.Mark) -> tuple[str, Any, dict[str, Any]]:
    options = dict(mark.kwargs)
    given = [*mark.args, *(options.pop(name) for name in ("prompt", "assertions")[len(mark.args) :] if name in options)]
    if len(given) != 2 or options.keys() - {"model"}:
        raise pytest.UsageError(f"{MARKER} takes a prompt, a list of assertions and optionally a model")
    return given[0], given[1], options


# -- what a failure says -------------------------------------------------------------------------------------------


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    measured = sys.modules.get("assay.pytest_plugin.measured")
    if measured is None:
        return None
    scores = [item for item in (left, right) if isinstance(item, measured.MeasuredScore)]
    config.stash[_EXPLAINED] = scores
    return [f"{left!r} {op} {right!r}", *(line for score in scores for line in score.in_words())] if scores else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    runs = item.config.stash.get(_RUNS, None)
    if runs is None:
        return report
    from assay.pytest_plugin.measured import CannotMeasureError

    explained, item.config.stash[_EXPLAINED] = item.config.stash[_EXPLAINED], []
    if call.excinfo is not None and call.excinfo.errisinstance(CannotMeasureError):
        setattr(report, CANNOT_MEASURE, True)
    elif report.failed:
        report.sections += [section for score in explained for section in score.sections()]
    if rows := runs.take_rows():  # on the report, because that is what an xdist worker sends to the main process
        setattr(report, NEW_ROWS, rows)
    return report


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """A score that could not be measured is an error of the test, like a broken fixture, not a failed assertion."""
    return ("error", "E", "ERROR") if vars(report).get(CANNOT_MEASURE) else None


# -- the summary ---------------------------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = _rows_of(terminalreporter.stats)
    if not rows:
        return
    from assay.pytest_plugin.summary import summary_lines

    terminalreporter.section("assay")
    for line in summary_lines(rows):
        terminalreporter.write_line(line)


def _rows_of(stats: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The rows of every run, each once, in the order of the tests."""
    reports = [report for stat in stats.values() for report in stat if isinstance(report, pytest.TestReport)]
    rows = [row for report in reports for row in vars(report).get(NEW_ROWS, ())]
    return list({(row["folder"], row["task"]): row for row in rows}.values())


def _setting(config: pytest.Config, name: str) -> str | None:
    flag = config.getoption(f"--assay-{name.replace('_', '-')}")
    return flag if flag is not None else config.getini(f"assay_{name}") or None


def _worker(config: pytest.Config) -> str | None:
    """The name of this worker of pytest-xdist; None where there are no workers."""
    name = vars(config).get("workerinput", {}).get("workerid")
    return None if name is None else str(name)
