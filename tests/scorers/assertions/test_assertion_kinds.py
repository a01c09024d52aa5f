"""A kind of assertion is written once: its options, what decides it, and a text for which it holds."""

from __future__ import annotations

import pytest
import yaml

from assay.scorers.assertions.assertion_kinds import ASSERTIONS, KINDS


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.proposed is not None])
def test_the_text_that_a_kind_proposes_holds(name: str) -> None:
    kind = KINDS[name]
    data = yaml.safe_load(f"{{{kind.info.example}}}")
    assert kind.proposed is not None
    text = kind.proposed(data["value"])
    assert text is not None
    held = kind.of_value(text, data["value"]) if kind.of_value is not None else None
    if kind.of_text is not None:
        held = kind.of_text(text, data).holds
    assert held


def test_samples_name_the_kinds_about_a_text_with_dashes() -> None:
    assert {name.replace("-", "_") for name in ASSERTIONS} == {
        name for name, kind in KINDS.items() if kind.of_value is not None
    }


def test_no_kind_is_decided_in_two_ways() -> None:
    for name, kind in KINDS.items():
        ways = [kind.of_value, kind.of_text, kind.of_trace]
        assert sum(way is not None for way in ways) == (0 if name == "cost" else 1), name
