"""The checks of several tasks on one screen: how many are fine, what is wrong, what was noticed."""

from __future__ import annotations

from collections.abc import Sequence

from assay.checking.findings import Finding, TaskCheck, most_severe_first, some_of_each
from assay.pages.document import Block, Items, Sentence, Span
from assay.text.printable import one_line
from assay.text.wording import count_of


def check_screen(checks: Sequence[TaskCheck]) -> list[Block]:
    """What a person reads first; the rest is behind --verbose, the requests behind the name of one task."""
    findings = list({str(each): each for check in checks for each in some_of_each(check.findings)}.values())
    errors = most_severe_first([each for each in findings if each.error])
    remarks = [each for each in findings if not each.error]
    broken = [check.task for check in checks if any(each.error for each in check.findings)]
    blocks: list[Block] = [Sentence(Span(verdict(checks), "bad" if broken else "strong"))]
    if errors:
        blocks.append(_listed(errors))
    if remarks:
        blocks += [Sentence(f"{count_of(len(remarks), 'remark')}, none of them an error:"), _listed(remarks)]
    shown = (broken or [checks[0].task])[0]
    return [*blocks, Sentence(("next: ", Span(f"assay check {one_line(shown)}", "key"), Span("   more: -v", "quiet")))]


def verdict(checks: Sequence[TaskCheck]) -> str:
    """How many tasks are fine, in a sentence."""
    broken = sum(any(each.error for each in check.findings) for check in checks)
    samples, tried = sum(check.samples for check in checks), sum(check.gold_checked for check in checks)
    golds = f"{tried:,} gold answers tried of {count_of(samples, 'sample')}"
    if not broken:
        return f"nothing is wrong with {count_of(len(checks), 'task')}: {golds}"
    verb = "has errors" if broken == 1 else "have errors"
    return f"{broken:,} of {count_of(len(checks), 'task')} {verb}; {golds}"


def _listed(findings: Sequence[Finding]) -> Items:
    return Items([one_line(str(each)) for each in findings], may_fold=True)
