"""Every kind of damage on every surface that reads a journal: it is refused, with the same sentence, and no number.

Each pair of a damage and a surface is a case; all of them run under `make prove`, and in the suite every surface with
one damage and every damage on one surface.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.main import SUBCOMMANDS, main
from assay.core import journal as journal_module
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.optimize.journal import SearchEntry, SearchJournal
from assay.viewer.api import Params
from assay.viewer.app import make_app
from assay.viewer.entry import SessionLinks
from assay.viewer.run_list import RunList
from tests.damaged_surfaces import (
    NAME_DAMAGE,
    NO_NUMBERS,
    OF_SEARCHES,
    READ_NO_JOURNAL,
    READERS,
    SEE_DAMAGE,
    SURFACES,
    Case,
    RefusedError,
    viewer_of,
)
from tests.damages import DAMAGES, NO_DAMAGE
from tests.results.runs import write_sums

SOURCE = Path(assay.__file__).parent
MODEL = "def answer(prompt):\n    n = int(prompt.split()[1])\n    return 'no idea' if n in (2, 7) else str(n + 1)\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tasks, a model and two finished runs of it."""
    folder = tmp_path_factory.mktemp("damaged")
    write_sums(folder / "tasks", "sums", 12)
    (folder / "own.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("whole", "intact"):
            assert main(["run", "tasks", "--model", "own:answer", "--quiet", "--run-dir", name]) == 0
    return folder


def damaged_case(made: Path, tmp_path: Path, change: Any, *, looked_before: bool = False) -> Case:
    run = tmp_path / "run"
    shutil.copytree(made / "whole", run)
    api = viewer_of(run, made / "intact")
    journal = run / "journal.jsonl"
    key = next(record.key for record in read_records(journal) if record.index == 5)
    if looked_before:
        for name in ("run", "intact"):
            api.run(Params([("run", name)]))
            api.samples(Params([("run", name), ("q", "idea")]))
        api.runs(Params([]))
    journal.write_bytes(b"".join(change(journal.read_bytes().splitlines(keepends=True))))
    out = tmp_path / "out"
    out.mkdir()
    return Case(run, made / "intact", out, api, key)


PAIRS = [(damage, surface) for damage in DAMAGES for surface in SURFACES]
EXCERPT = [
    *((list(DAMAGES)[n % len(DAMAGES)], surface) for n, surface in enumerate(SURFACES)),
    *((damage, "what is finished") for damage in DAMAGES),
]


def refused(case: Case, surface: str, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as raised:
        SURFACES[surface](case)
    printed = capsys.readouterr()
    message = printed.err if isinstance(raised.value, RefusedError) else str(raised.value)
    assert printed.out == "", "no number is printed"
    assert not list(case.out.iterdir()) or "run" in surface, "and nothing is written"
    assert f"`assay repair {case.run}`" in message, message
    assert re.search(rf"\.jsonl, line {DAMAGES[damage].first}: ", message) or "ends in something" in message, message


@pytest.mark.parametrize(("damage", "surface"), sorted({*EXCERPT}))
def test_a_damaged_journal_is_refused(
    made: Path,
    tmp_path: Path,
    damage: str,
    surface: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 65_536)
    case = damaged_case(made, tmp_path, DAMAGES[damage].change)
    refused(case, surface, damage, capsys)


@pytest.mark.prove
@pytest.mark.parametrize(("damage", "surface"), [pair for pair in PAIRS if pair not in EXCERPT])
def test_every_damage_is_refused_on_every_surface(
    made: Path,
    tmp_path: Path,
    damage: str,
    surface: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    test_a_damaged_journal_is_refused(made, tmp_path, damage, surface, monkeypatch, capsys)


VIEWED = [surface for surface in SURFACES if surface.startswith("viewer: ")]


@pytest.mark.parametrize("surface", VIEWED)
def test_a_journal_that_is_damaged_while_the_viewer_is_open_is_refused(
    made: Path,
    tmp_path: Path,
    surface: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of the same size as before: nothing but the time of its last change shows it."""
    monkeypatch.chdir(made)
    damage = list(DAMAGES)[VIEWED.index(surface) % 7]
    case = damaged_case(made, tmp_path, DAMAGES[damage].change, looked_before=True)
    refused(case, surface, damage, capsys)


def test_a_damaged_run_has_no_number_of_an_older_leaderboard(made: Path, tmp_path: Path) -> None:
    """A copied folder may have any times: its leaderboard may be newer than the journal."""
    case = damaged_case(made, tmp_path, DAMAGES["an edited score"].change)
    (case.run / "leaderboard.json").touch()
    with pytest.raises(UsageError, match=r"line 3: was changed"):
        SURFACES["viewer: runs"](case)


def test_a_damaged_journal_that_is_indexed_by_another_process_has_no_number_meanwhile(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a long one is: the leaderboard of before the damage is not shown either."""
    for module in ("run_view", "boards"):
        monkeypatch.setattr(f"assay.viewer.{module}.LONG_BYTES", 0)
    shutil.copytree(made / "whole", tmp_path / "run")
    (tmp_path / "run" / "leaderboard.json").unlink()
    api, journal = viewer_of(tmp_path / "run"), tmp_path / "run" / "journal.jsonl"
    ask = Params([("run", "run")])
    api.run(ask)
    api.run_list.builders.wait()
    assert api.run(ask)["board"]["complete"]
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(DAMAGES["an edited score"].change(lines)))
    page = api.run(ask)
    assert (page["board"], page["summary"]["score"], page["progress"]["done"]) == (None, None, 0)
    api.run_list.builders.wait()
    with pytest.raises(UsageError, match=r"line 3: was changed"):
        api.run(ask)


def test_a_repaired_run_is_shown_by_the_viewer_that_was_open(made: Path, tmp_path: Path) -> None:
    case = damaged_case(made, tmp_path, DAMAGES["an edited score"].change, looked_before=True)
    with pytest.raises(UsageError, match=r"line 3: was changed"):
        case.api.run(Params([("run", "run")]))
    assert main(["repair", str(case.run)]) == 3
    page = case.api.run(Params([("run", "run")]))
    assert (page["progress"]["done"], page["progress"]["complete"]) == (11, False)
    assert any("1 damaged line was set aside" in notice for notice in page["board"]["notices"])


def test_verify_names_every_damage_and_no_number(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 65_536)
    for damage in DAMAGES:
        case = damaged_case(made, tmp_path / damage[:40].replace(" ", "-"), DAMAGES[damage].change)
        assert main(["verify", str(case.run)]) == 1
        printed = capsys.readouterr()
        assert re.search(rf"journal\.jsonl, line {DAMAGES[damage].first}: (edited|unchecked|unreadable): ", printed.out)
        assert f"`assay repair {case.run}`" in printed.err


@pytest.mark.parametrize("name", NO_DAMAGE)
def test_what_is_no_damage_is_read(
    made: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    case = damaged_case(made, tmp_path, NO_DAMAGE[name], looked_before=True)
    for surface in ("show", "export csv", "viewer: runs", "viewer: run", "Run.leaderboard", "run, resumed"):
        SURFACES[surface](case)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_journal_of_a_search_goes_by_the_same_rule(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MAX_LINE_BYTES", 65_536)
    folder = tmp_path / "search"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": "assay.optimize.run.v1"}))
    path = folder / "journal.jsonl"
    journal = SearchJournal(path)
    for number in range(12):
        text = {"prediction": "no idea", "score": 0.0}
        journal.add(SearchEntry(kind="evaluation", key=f"k{number}", candidate=0, part="d", score=0.0, side_info=text))
    journal.close()
    viewer = viewer_of(folder)
    assert "error" not in viewer.runs(Params([]))["runs"][0]
    path.write_bytes(b"".join(DAMAGES[damage].change(path.read_bytes().splitlines(keepends=True))))
    for read in (lambda: SearchJournal(path), lambda: viewer.run(Params([("run", "search")]))):
        with pytest.raises(UsageError, match=f"`assay repair {folder}`"):
            read()
    assert "`assay repair" in viewer.runs(Params([]))["runs"][0]["error"]


def test_every_command_is_a_surface_or_reads_no_journal() -> None:
    registered = {re.split(r"[ ,]", name)[0] for name in SURFACES}
    assert {*SUBCOMMANDS} - READ_NO_JOURNAL - NAME_DAMAGE <= registered, "register it in damaged_surfaces.py"


def test_every_request_of_the_viewer_is_a_surface(tmp_path: Path) -> None:
    app: Any = make_app(RunList([tmp_path], awaited=True), entry=SessionLinks("", print), port=0)
    found = {route.path.removeprefix("/api/") for route in app._app.routes if route.path.startswith("/api/")}
    registered = {re.split(r"[ ,]", name.removeprefix("viewer: "))[0] for name in VIEWED}
    assert found - {"events"} <= registered, "register it in damaged_surfaces.py"


def test_everything_that_an_opened_run_offers_is_a_surface() -> None:
    found = {name for name, _ in inspect.getmembers(assay.Run) if not name.startswith("_")}
    registered = {name.removeprefix("Run.") for name in SURFACES if name.startswith("Run.")}
    assert found - NO_NUMBERS <= registered, "register it in damaged_surfaces.py"


READING = {"read_journal", "read_records", "counting_lines", "lines_at", "refuse_damaged"}


def test_every_module_that_reads_a_journal_is_behind_a_surface() -> None:
    found = ((path, path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py"))
    imported: dict[str, set[str]] = {}
    for path, text in found:
        for node in ast.walk(ast.parse(text)) if "assay.core.journal" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "assay.core.journal":
                names = imported.setdefault(path.relative_to(SOURCE).as_posix(), set())
                names |= {alias.name for alias in node.names}
    readers = {path for path, names in imported.items() if names & READING} - OF_SEARCHES - SEE_DAMAGE
    assert readers == {*READERS}, "name a surface that goes through it in damaged_surfaces.py"
    assert {*READERS.values()} <= {*SURFACES}
    assert {path for path, names in imported.items() if "read_lines" in names} == SEE_DAMAGE
