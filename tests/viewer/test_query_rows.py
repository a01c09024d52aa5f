"""What an exported copy knows of its rows: the data that the page's own engine is tested with is up to date."""

from __future__ import annotations

import json
from pathlib import Path

from tests.viewer.query_run import make_query_run, rows_of

from assay.viewer.builders import Builders
from assay.viewer.run_view import RunView


def test_the_rows_that_the_scripts_are_tested_with_are_those_of_an_export(tmp_path: Path) -> None:
    """`python -m tests.viewer.query_run` rewrites them."""
    kept = json.loads(Path(__file__).with_name("query_rows.json").read_text(encoding="utf-8"))
    assert rows_of(RunView("run", make_query_run(tmp_path / "run"), Builders())) == kept
