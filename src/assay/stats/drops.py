"""Whether something got worse: tests on the side of a drop."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.stats.families import correct, holm
from assay.stats.intervals import check_level
from assay.stats.paired_evidence import Basis


class DropTest(Struct, frozen=True, kw_only=True):
    """Whether one of several comparisons got worse, tested on that side alone and corrected by Holm."""

    p_value: float
    adjusted_p: float
    significant: bool
    attainable: float | None
    """The adjusted p-value if everything had been lost, with all other comparisons as they are; None where there was
    nothing to lose.
    """
    can_tell: bool
    """False when even losing everything would not have been significant: the test cannot find a drop."""
    basis: Basis | None = None


def drop_tests(p_values: Sequence[float], least: Sequence[float | None], level: float) -> list[DropTest]:
    """From the one-sided `p_drop` and `least_p_drop` of every comparison that a report makes."""
    check_level(level)
    tests = []
    for index, (corrected, smallest) in enumerate(zip(correct(p_values, level), least, strict=True)):
        p = corrected.p_value
        attainable = None if smallest is None else _adjusted_with(p_values, index, min(p, smallest))
        tests.append(
            DropTest(
                p_value=p,
                adjusted_p=corrected.adjusted_p,
                significant=corrected.significant,
                attainable=attainable,
                can_tell=attainable is None or attainable < 1.0 - level,
            )
        )
    return tests


def _adjusted_with(p_values: Sequence[float], index: int, p_value: float) -> float:
    """The adjusted p-value at `index` if it had been `p_value`."""
    return holm([*p_values[:index], p_value, *p_values[index + 1 :]])[index]
