"""lm_eval's names are read without what only tensors need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from assay.bridges.lm_eval.worker.names import _import_datasets_without_torch


@pytest.mark.parametrize("before", [None, "1"])
def test_only_the_import_of_datasets_leaves_torch_out(
    before: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "datasets.py").write_text("import os\nUSE_TORCH = os.environ['USE_TORCH']\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == "datasets"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delenv("USE_TORCH", raising=False)
    if before is not None:
        monkeypatch.setenv("USE_TORCH", before)
    _import_datasets_without_torch()
    assert sys.modules.pop("datasets").USE_TORCH == "0"
    assert os.environ.get("USE_TORCH") == before
