"""`assay recipe`: what there is, and what is wrong."""

from __future__ import annotations

import pytest

from assay.cli.main import main
from assay.recipes.recipe import NAMES


def test_list_and_show_tell_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    for name in NAMES:
        assert main(["recipe", "show", name]) == 0
        told = capsys.readouterr().out
        assert "licence:" in told
        assert "source:" in told
