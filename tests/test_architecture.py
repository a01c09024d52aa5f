"""The shape of the program: instant start-up, a small core, and names that are what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import assay.core
from assay import catalog

SOURCE = Path(assay.__file__).parent
HEAVY = {"msgspec", "numpy", "aiohttp", "yaml", "jinja2", "asyncio", "rapidfuzz", "uvloop"}


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from assay.cli.main import main; main([]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stderr.split())


def test_a_run_of_jsonl_tasks_imports_no_template_engine_and_no_http_client(tmp_path: Path) -> None:
    code = "import sys; from assay.cli.main import main; main(['run', '--quiet']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {"jinja2", "aiohttp", "assay.evaluators"}.isdisjoint(done.stderr.split())


def test_the_core_stays_small_enough_to_be_read_in_one_go() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (SOURCE / "core").glob("*.py"))
    assert lines < 2000


def test_the_core_is_listed_in_an_order_in_which_nothing_is_used_before_it_was_met() -> None:
    listed = re.findall(r"^    (\w+)  ", assay.core.__doc__ or "", re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (SOURCE / "core").glob("[!_]*.py"))
    for place, name in enumerate(listed):
        used = re.findall(r"^from assay\.core\.(\w+)", (SOURCE / "core" / f"{name}.py").read_text(), re.MULTILINE)
        assert not {*used} - {*listed[:place]}, name


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCE.rglob("*.py") if path.name in vague]


def test_every_file_opens_by_saying_what_it_is_for() -> None:
    silent = [path for path in SOURCE.rglob("*.py") if not path.read_text().lstrip().startswith('"""')]
    assert not silent


def test_every_catalog_name_resolves() -> None:
    for kind, names in catalog.CATALOG.items():
        for name in names:
            assert callable(catalog.resolve(kind, name)), (kind, name)


def test_the_public_names_are_the_exported_ones() -> None:
    assert sorted(assay.__all__) == list(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name) is not None
