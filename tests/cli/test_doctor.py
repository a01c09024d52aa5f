"""`assay doctor` shows which layers there are, for people and for programs."""

from __future__ import annotations

import json

import pytest

from assay.cli.main import main


def test_a_row_per_layer_and_the_tier_last(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["layer"] == "platform"
    assert rows[-1]["layer"] == "tier"
    assert status == (0 if rows[-1]["present"] else 1)
    assert all(row["gives"] for row in rows)
    assert all(row["remedy"] for row in rows if not row["present"] and row["layer"] in ("landlock", "namespaces"))


def test_the_table_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    told = capsys.readouterr().out
    assert "platform" in told
    assert "tier" in told
