"""Samples whose metric cannot read their targets, so that no answer scores: worth a warning before any model call."""

from __future__ import annotations

from collections.abc import Sequence


class LostWords:
    """Counts the samples of one file in whose targets ROUGE-L finds no word."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._count = 0

    def add(self, metric: str, sample_id: str, targets: Sequence[str]) -> None:
        """Look at one sample."""
        if metric != "rouge_l":
            return
        from assay.metrics.overlap import rouge_words  # most files have no such sample

        if not any(rouge_words(target) for target in targets):
            self._first = self._first or sample_id
            self._count += 1

    def warnings(self, place: str) -> list[str]:
        """Warnings about the file or task at this place; none if all is well."""
        if not self._count:
            return []
        samples = f"sample `{self._first}`" + (f" and {self._count - 1:,} more" if self._count > 1 else "")
        return [
            f"{place}: rouge_l gives every answer 0.0, the target itself included, for {samples}: it knows only the "
            "letters a-z and digits, and their targets have none; f1 and bleu_4 read every script"
        ]
