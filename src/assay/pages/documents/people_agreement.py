"""How far a judge agrees with people, as a document: the verdict, then where they part."""

from __future__ import annotations

from collections.abc import Iterator

from assay.pages.document import Block, Sentence, Span, TextTable
from assay.results.people_agreement import MOST_LABELS, JudgeAgreement
from assay.stats.intervals import Interval
from assay.text import numbers
from assay.text.wording import count_of


def agreement_document(found: JudgeAgreement) -> Iterator[Block]:
    yield Sentence(
        (Span(f"{found.task}: {found.scorer}.{found.value}", "strong"), f" and {found.labelled_by}: {_verdict(found)}")
    )
    left_out = {"have no label": found.without_label, "are labelled and have no verdict": found.without_verdict}
    if listed := [f"{count_of(count, 'attempt')} {words}" for words, count in left_out.items() if count]:
        yield Sentence(f"left out: {', '.join(listed)}")
    if len(found.labels) <= MOST_LABELS:
        yield _confusion(found)


def _verdict(found: JudgeAgreement) -> str:
    weights = "" if found.weights == "none" else f", {found.weights} weights"
    kappa = (
        f"kappa {numbers.number(found.kappa)} ({_ends(found.kappa_interval)}){weights}"
        if found.kappa is not None
        else f"no kappa: {found.reason}"
    )
    share = f"the same label for {numbers.number(found.agreement)} ({_ends(found.agreement_interval)}) of {found.n:,}"
    return f"{kappa}; {share}"


def _ends(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return interval.reason or "no interval"
    return numbers.interval(interval)


def _confusion(found: JudgeAgreement) -> TextTable:
    """A row for each label of people: what the judge said of those answers, and how often the same."""
    return TextTable(
        header=["people say", "n", *(f"judge: {label}" for label in found.labels), "same", "interval"],
        rows=[
            [
                Span(row.label, "key"),
                f"{row.n:,}",
                *(f"{count:,}" for count in row.judged),
                numbers.number(row.same),
                numbers.interval(row),
            ]
            for row in found.by_label
        ],
        numeric_from=1,
    )
