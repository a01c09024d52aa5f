"""Without the extra, the command says what to install, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import ROOT, assay


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_a_missing_package_is_one_line(tmp_path: Path, package: str) -> None:
    (tmp_path / "absent" / package).mkdir(parents=True)
    (tmp_path / "absent" / package / "__init__.py").write_text(
        f"raise ModuleNotFoundError('No module named {package}', name={package!r})"
    )
    (tmp_path / "runs").mkdir()
    done = assay("view", "--no-browser", cwd=tmp_path, PYTHONPATH=f"{tmp_path / 'absent'}:{ROOT / 'src'}")
    assert done.returncode == 2
    assert done.stderr == f"assay view: the viewer needs {package}: pip install 'assay-eval[viewer]'\n"
