"""What is said of a setting stands on its field, and its values are checked by it under the name they were given."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pytest
from msgspec import Struct

from assay.setting import (
    AT_LEAST_1,
    NOT_EMPTY,
    NUMBER,
    ZERO_OR_MORE,
    AppliesTo,
    Flag,
    Purpose,
    Setting,
    flag_of,
    problems_of,
    settings_of,
)


class Asked(Struct, frozen=True, kw_only=True):
    count: Annotated[int, Setting(Purpose.RESULT, bound=AT_LEAST_1)] = 1
    wait_seconds: Annotated[
        float, Setting(Purpose.EXECUTION, AppliesTo.SERVERS, ZERO_OR_MORE), Flag("--wait MINUTES", "how long", unit=60)
    ] = 60.0
    texts: Annotated[tuple[str, ...] | None, Setting(Purpose.RESULT, bound=NOT_EMPTY)] = None
    target: Annotated[float | None, Setting(Purpose.RESULT, bound=NUMBER)] = None
    note: str = ""


def test_fields_that_are_no_settings_are_left_out() -> None:
    fields = settings_of(Asked)
    assert list(fields) == ["count", "wait_seconds", "texts", "target"]
    assert fields["wait_seconds"].setting == (Purpose.EXECUTION, AppliesTo.SERVERS, ZERO_OR_MORE)
    assert fields["count"].flag is None


def test_a_flag_has_its_own_name_or_that_of_the_field() -> None:
    assert [flag_of(Asked, name) for name in ("wait_seconds", "count", "elsewhere_too")] == [
        "--wait",
        "--count",
        "--elsewhere-too",
    ]


@pytest.mark.parametrize(
    ("values", "in_python", "as_flag"),
    [
        ({"count": 0}, "count must be at least 1, got 0", "--count must be at least 1, got 0"),
        ({"wait_seconds": -90.0}, "wait_seconds must be 0 or more, got -90.0", "--wait must be 0 or more, got -1.5"),
        (
            {"wait_seconds": float("inf")},
            "wait_seconds must be a finite number, got inf",
            "--wait must be a finite number, got inf",
        ),
        (
            {"texts": ("a", "")},
            "texts must be a text that is not empty: an empty one has no effect, leave it out",
            "--texts must be a text that is not empty: an empty one has no effect, leave it out",
        ),
        ({"target": float("nan")}, "target must be a number, got nan", "--target must be a number, got nan"),
    ],
)
def test_a_bad_value_is_reported_in_the_words_and_the_unit_it_was_given_in(
    values: dict[str, Any], in_python: str, as_flag: str
) -> None:
    assert list(problems_of(Asked(**values))) == [in_python]
    assert list(problems_of(Asked(**values), partial(flag_of, Asked))) == [as_flag]


def test_an_aim_that_is_never_reached_is_a_number() -> None:
    assert list(problems_of(Asked(target=float("inf"), texts=()))) == []
