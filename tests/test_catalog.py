"""A name leads to its object; a module that cannot be imported is reported in a sentence, whatever it does instead."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from assay import catalog
from assay.core.describe import DatasetInfo, SolverNeeds
from assay.core.errors import UsageError
from assay.core.types import PartSpec
from assay.tasks.load import load_tasks
from tests.calls import calls_of
from tests.end_to_end.commands import assay, write_task

MODULES = {
    "import sys; sys.exit(0)": "importing it ended with SystemExit: 0; the code of a script belongs under",
    "def broken(:": "broken.py, line 1: invalid syntax",
    "1 / 0": "importing it failed: ZeroDivisionError: division by zero (broken.py:1)",
    "import missing_one": "importing it failed: ModuleNotFoundError: No module named 'missing_one' (broken.py:1)",
}


@pytest.mark.parametrize(("source", "said"), MODULES.items())
def test_a_module_that_cannot_be_imported_is_bad_input(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "broken.py").write_text(source)
    write_task(tmp_path / "t.jsonl", {"hi": "hi"}, metric="broken:metric")
    done = assay("run", "t.jsonl", "--run-dir", "run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`broken:metric`: {said}" in done.stderr.replace(f"{tmp_path}/", "")


def test_a_file_that_an_installed_module_hides_is_named(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("def model(prompt): return prompt")
    write_task(tmp_path / "t.jsonl", {"hi": "hi"})
    done = assay("run", "t.jsonl", "--model", "colorsys:model", "--run-dir", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "an installed module `colorsys` is imported instead of colorsys.py here; rename the file" in done.stderr
    assert "Traceback" not in done.stderr


def publish(folder: Path, points: str) -> Path:
    """A folder in which a package is installed that has these entry points."""
    about = folder / "published-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: published\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(points)
    return folder


def test_a_built_in_name_is_known_without_a_look_at_what_is_installed(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t.jsonl", {"hi": "hi"}, metric="normalized_exact_match")
    assert calls_of(entry_points, lambda: load_tasks([str(task)])) == 0


def test_installed_packages_are_looked_into_once_for_a_file_of_many_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = publish(tmp_path / "site", "[assay.metrics]\nloud = builtins:len\n")
    monkeypatch.syspath_prepend(str(site))
    task = write_task(tmp_path / "t.jsonl", {str(number): "hi" for number in range(20)}, metric="loud")
    assert calls_of(entry_points, lambda: load_tasks([str(task)])) == 1


def test_a_published_name_that_cannot_be_imported_is_reported_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = publish(tmp_path / "site", "[assay.listeners]\ngone = published_gone.parts:Gone\n")
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(UsageError, match=r"`published_gone.parts:Gone`: there is no module `published_gone`"):
        catalog.resolve("listener", "gone")


def test_what_a_strangers_part_says_is_known_only_where_its_code_may_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts_of_a_stranger.py").write_text(
        "import assay, pathlib\n"
        "pathlib.Path('ran').touch()\n"
        "@assay.describes(assay.SolverNeeds(likelihoods=True))\n"
        "class Solver: pass\n"
        "class Silent(Solver): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    solver = PartSpec(key="s", use="parts_of_a_stranger:Solver")
    assert catalog.describe("solver", solver.use, {}) is None
    assert catalog.solver_needs(solver) == SolverNeeds()
    assert not Path("ran").exists()
    assert catalog.solver_needs(solver, own_code=True) == SolverNeeds(likelihoods=True)
    silent = PartSpec(key="s", use="parts_of_a_stranger:Silent")
    assert catalog.solver_needs(silent, own_code=True) == SolverNeeds(), "a subclass is another part"
    assert catalog.dataset_info("parts_of_a_stranger:Solver", {}, own_code=True) is None, "it describes no dataset"


def test_what_a_part_says_follows_from_its_options() -> None:
    assert catalog.solver_needs(PartSpec(key="s", use="lm_eval", options={"likelihoods": True})).likelihoods
    assert not catalog.solver_needs(PartSpec(key="s", use="lm_eval", options={"likelihoods": False})).likelihoods
    generated = catalog.dataset_info("generated", {"recipe": {}})
    assert generated is not None
    assert generated.elsewhere
    assert catalog.dataset_info("generated", {"recipe": {}, "path": "rows.jsonl"}) == DatasetInfo()


def test_what_a_metric_of_the_author_says_is_not_asked_without_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked_for.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert catalog.describe("scorer", "metric", {"metric": "asked_for:metric"}) is None
    with pytest.raises(UsageError, match="imported"):
        catalog.describe("scorer", "metric", {"metric": "asked_for:metric"}, own_code=True)
