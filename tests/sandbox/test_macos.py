"""macOS: the reduced tier, only when allowed."""

from __future__ import annotations

import sys

import pytest

from assay.sandbox import tiers


def test_macos_gets_the_reduced_tier_only_when_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert tiers.plans_for_this_host("B") == []
    assert "min_tier: M" in str(tiers.refusal("B", []))
    (plan,) = tiers.plans_for_this_host("M")
    assert "(deny network*)" in plan["profile"]
    assert "(deny process-fork)" in plan["profile"]
