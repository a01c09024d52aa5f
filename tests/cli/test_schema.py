"""`assay schema`: JSON Schemas for editors."""

from __future__ import annotations

import json
from pathlib import Path

from tests.end_to_end.commands import assay


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    done = assay("schema", "task", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "assay task file"
