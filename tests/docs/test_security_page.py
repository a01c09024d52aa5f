"""Every test that the threat model names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text())
    assert len(named) > 25
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).exists() or (name and f"def {name}(" not in (ROOT / path).read_text())
    ]
    assert missing == []


def test_every_threat_is_covered_by_a_test() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line]
    threats = [row for row in rows if not row.startswith("| threat")]
    assert len(threats) > 20
    assert [row for row in threats if "`tests/" not in row] == []
