"""Placeholders stay and lengths hold, or a text is never evaluated."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.optimize.constraints import Constraints, constraints_for, placeholders_in

PLACEHOLDERS = [
    ("Ask {question} now", ("{question}",)),
    ("{{ question }} and {{answer|trim}}", ("{{ question }}", "{{answer|trim}}")),
    ("<< config.tone >> ${name} %(city)s {}", ("<< config.tone >>", "${name}", "%(city)s", "{}")),
    ("{a} {b} {a}", ("{a}", "{b}")),
    ('{"json": 1} and {x: 1} and a { b }', ()),
    ("nothing here", ()),
]


@pytest.mark.parametrize(("text", "found"), PLACEHOLDERS)
def test_placeholders_are_found(text: str, found: tuple[str, ...]) -> None:
    assert placeholders_in(text) == found


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("say {x}", None),
        ("say x", "lost {x}"),
        ("{x}" + "a" * 20, "23 characters"),
        (" \n", "empty"),
    ],
)
def test_a_text_must_follow_the_rules(text: str, broken: str | None) -> None:
    said = Constraints(placeholders={"text": ("{x}",)}, max_characters=20).broken_by(text)
    assert (said is None) if broken is None else (said is not None and broken in said)


@pytest.mark.parametrize(
    ("seed", "keep", "most", "reason"),
    [
        ("no place", True, None, "the seed has none"),
        (None, True, None, "the seed has none"),
        ("too long {x}", False, 5, "breaks its own rules"),
        ("fine", False, 0, "at least 1"),
    ],
)
def test_rules_the_seed_cannot_keep_are_refused(seed: str | None, keep: bool, most: int | None, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        constraints_for({"text": seed} if seed else None, keep_placeholders=keep, max_characters=most)


def test_the_proposer_is_given_the_rules() -> None:
    said = Constraints(placeholders={"text": ("{x}",)}, max_characters=20).in_words()
    assert "{x}" in said
    assert "20" in said
    assert Constraints().in_words() == ""
