"""A name leads to its object; a module that cannot be imported is told in a sentence, whatever it does instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.commands import assay, write_task

MODULES = {
    "import sys; sys.exit(0)": "importing it ended with SystemExit: 0; what a script does belongs under",
    "def broken(:": "broken.py, line 1: invalid syntax",
    "1 / 0": "importing it failed: ZeroDivisionError: division by zero",
    "import no_such_package": "importing it failed: ModuleNotFoundError: No module named 'no_such_package'",
}


@pytest.mark.parametrize(("source", "said"), MODULES.items())
def test_a_module_that_cannot_be_imported_is_bad_input(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "broken.py").write_text(source)
    write_task(tmp_path / "t.jsonl", {"hi": "hi"}, metric="broken:metric")
    done = assay("run", "t.jsonl", "--run-dir", "run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`broken:metric`: {said}" in done.stderr.replace(f"{tmp_path}/", "")
    assert "Traceback" not in done.stderr
