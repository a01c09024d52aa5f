"""Gates are read strictly: what is wrong is named with its position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.results.gates.expression import parse_gate


@pytest.mark.parametrize(
    ("text", "left", "comparison", "right"),
    [
        ("overall >= 0.8", [("overall", 1)], ">=", [(0.8, 1)]),
        ("arithmetic >= baseline - 0.02", [("arithmetic", 1)], ">=", [("baseline", 1), (0.02, -1)]),
        ("code-exec>80%", [("code-exec", 1)], ">", [(0.8, 1)]),
        ("`my task` <= .5 + 1e-1", [("my task", 1)], "<=", [(0.5, 1), (0.1, 1)]),
        ("sums.pass@4 == -1", [("sums.pass@4", 1)], "==", [(1.0, -1)]),
        ("failed < 5", [("failed", 1)], "<", [(5.0, 1)]),
    ],
)
def test_a_gate_is_two_sums_and_a_comparison(text: str, left: object, comparison: str, right: object) -> None:
    gate = parse_gate(text)
    told = [
        [
            ("baseline" if term.baseline else term.name if term.number is None else term.number, term.sign)
            for term in side
        ]
        for side in (gate.left, gate.right)
    ]
    assert (told[0], gate.comparison, told[1]) == (left, comparison, right)


@pytest.mark.parametrize(
    ("text", "position", "detail"),
    [
        ("overall => 0.8", 9, "cannot read `=> 0.8`"),
        ("overall", 8, "there is no comparison"),
        ("", 1, "there is no comparison"),
        ("a > 1 > 2", 7, "one comparison"),
        ("a >= baseline -", 15, "expected a name or a number here"),
        ("a >=", 5, "expected a name or a number here"),
        ("a >= 0.5 b", 10, "expected `+`, `-` or the end"),
        ("a >= 1 + - 2", 10, "follows another sign"),
        ("0.5 >= 0.4", 1, "compares only numbers"),
        ("a + b >= baseline", 10, "needs one name on the other side"),
        ("a >= 0.5; import os", 9, "cannot read `; import os`"),
        ("a >= 0.8x", 6, "cannot read `0.8x`"),
        ("a >= 1e400", 6, "too large a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_position(text: str, position: int, detail: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text)
    assert f"position {position}: " in str(caught.value)
    assert detail in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_gate_or_a_sentence(text: str) -> None:
    try:
        gate = parse_gate(text)
    except UsageError:
        return
    assert gate.left
    assert gate.right
