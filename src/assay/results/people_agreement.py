"""How far the judges of a run agree with people who labelled the same answers: kappa, the share, where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from assay.core.describe import ScorerInfo, Value
from assay.core.errors import UsageError
from assay.core.journal import AnyLine, counting_lines
from assay.core.types import PartSpec, Score, ScoreValue
from assay.datasets.tables import table as table_rows
from assay.results.report_settings import metadata_value
from assay.run_file import read_run_file
from assay.scorers.judging.panel import PEOPLE, as_verdict, verdict_of
from assay.stats.agreement import KappaWeights, agreement
from assay.stats.cells import UNIT, interval_of_mean
from assay.stats.intervals import Interval
from assay.stats.rater_agreement import confusion_of, in_order
from assay.stats.score_table import as_text
from assay.text.wording import hint

ID = "id"
"""The column of a table of labels that says which sample each is of."""
MOST_LABELS = 12
"""Labels beyond which two raters seldom give the same one, and a table of them says little."""


class LabelAgreement(Struct, frozen=True, kw_only=True):
    """What people gave one label."""

    label: str
    n: int
    judged: list[int]
    """How often the judge gave each label to these answers, in the order of `labels`."""
    same: float | None
    """The share of them that the judge gave this label too."""
    low: float | None
    high: float | None


class JudgeAgreement(Struct, frozen=True, kw_only=True):
    """One judge and people."""

    task: str
    scorer: str
    value: str
    """The value of the judge's score that is compared."""
    labelled_by: str
    """The column with what people said."""
    weights: KappaWeights
    n: int
    """Attempts that both have labelled."""
    without_label: int
    """Attempts with a verdict that people did not label."""
    without_verdict: int
    """Attempts that people labelled and that have no verdict: the judge failed, or had nothing to judge."""
    agreement: float | None
    agreement_interval: Interval
    kappa: float | None
    kappa_interval: Interval
    labels: list[str]
    by_label: list[LabelAgreement]
    reason: str | None = None
    """Why there is no kappa."""


class _Line(AnyLine, kw_only=True):
    task: str
    sample_id: str
    scores: tuple[Score, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


def people_agreement(
    folder: Path,
    labels: str | None = None,
    *,
    scorer: str | None = None,
    value: str | None = None,
    weights: KappaWeights | None = None,
    order: Sequence[str] | None = None,
    table: Path | None = None,
    level: float = 0.95,
) -> list[JudgeAgreement]:
    """The agreement of each judge of a run with people: what the column `labels` has, or what its scores hold already.

    The column is that of the run's dataset, or of a `table` with the ids of samples, for labels that came later.
    `value` is compared in place of the judge's verdict. Marks are compared with quadratic weights unless `weights` says
    otherwise. Attempts at one sample are one cluster.
    """
    run = read_run_file(folder)
    judges = {
        (definition.name, part.key): part
        for definition in run.definitions
        for part in definition.scorers
        if isinstance(part.about, ScorerInfo) and verdict_of(part.about) is not None and scorer in (None, part.key)
    }
    if not judges:
        known = [part.key for definition in run.definitions for part in definition.scorers]
        which = f"no scorer `{scorer}` here gives" if scorer else "no scorer here gives"
        which += " one verdict or share that people could give too"
        raise UsageError(f"{folder}: {which}. {hint(scorer or '', known, 'Scorers')}")
    given = None if table is None or labels is None else labels_in(table, labels)
    pairs: dict[tuple[str, str], _Pairs] = {
        of: _Pairs(of, part, value, labels, folder, given) for of, part in judges.items()
    }
    for _, line in counting_lines(folder / "journal.jsonl", _Line):
        scores = {score.name: score for score in line.scores}
        for (task, key), found in pairs.items():
            if task == line.task:
                found.add(line, scores.get(key))
    return [found.compared(weights, order, level) for found in pairs.values()]


def labels_in(path: Path, column: str) -> dict[str, str]:
    """The labels of a table by the ids of its samples."""
    labels: dict[str, str] = {}
    for number, row in enumerate(table_rows(path=str(path)).rows(), 1):
        for name in (ID, column):
            if name not in row:
                raise UsageError(f"{path}: row {number} has no column `{name}`. {hint(name, row, 'Columns')}")
        sample = str(row[ID])
        if sample in labels:
            raise UsageError(f"{path}: row {number}: a second label of the sample `{sample}`")
        labels[sample] = "" if row[column] is None else str(row[column])
    return labels


class _Pairs:
    """What a judge and people said of the same answers."""

    def __init__(
        self,
        of: tuple[str, str],
        part: PartSpec,
        value: str | None,
        labels: str | None,
        folder: Path,
        given: Mapping[str, str] | None,
    ) -> None:
        info = part.about
        assert isinstance(info, ScorerInfo)  # noqa: S101 - it was chosen for that
        self._of, self._part, self._labels, self._folder = of, part, labels, folder
        verdict = verdict_of(info)
        assert verdict is not None  # noqa: S101 - it was chosen for that
        name = value or verdict.name
        known = {each.name: each for each in info.values}
        if name not in known:
            raise UsageError(f"{folder}: `{of[1]}` gives no value `{name}`. {hint(name, known, 'Values')}")
        self._value: Value = known[name]
        self._given = given
        self._judge: list[str] = []
        self._people: list[str] = []
        self._samples: list[str] = []
        self._without_label = self._without_verdict = 0
        self._columns: dict[str, None] = {}

    def add(self, line: _Line, score: Score | None) -> None:
        said = None if score is None else score.values.get(self._value.name)
        people = self._label(line, score)
        if people is None or said is None:
            self._without_label += people is None and said is not None
            self._without_verdict += people is not None and said is None
            return
        self._judge.append(as_text(float(said) if isinstance(people, float) and isinstance(said, bool) else said))
        self._people.append(as_text(people))
        self._samples.append(line.sample_id)

    def _label(self, line: _Line, score: Score | None) -> ScoreValue:
        if self._labels is None:
            return None if score is None else score.values.get(PEOPLE)
        inner = line.metadata.get("sample")
        self._columns |= dict.fromkeys(inner if isinstance(inner, dict) else line.metadata)
        if self._given is not None:
            text = self._given.get(line.sample_id)
        else:
            text = metadata_value(line.metadata, f"sample.{self._labels}")
            text = metadata_value(line.metadata, self._labels) if text is None else text
        if text is None or not str(text).strip():
            return None
        try:
            return as_verdict(self._value, str(text), self._part.options)
        except ValueError as error:
            raise UsageError(f"{self._folder}: sample `{line.sample_id}`: {self._labels}: {error}") from error

    def compared(self, weights: KappaWeights | None, order: Sequence[str] | None, level: float) -> JudgeAgreement:
        if not self._people and not self._without_verdict:
            known = ", ".join(self._columns) or "none"
            missing = (
                f"no attempt has a label in `{self._labels}`; columns: {known}"
                if self._labels
                else "its scores hold no labels of people: name their column with --labels"
            )
            raise UsageError(f"{self._folder}: task `{self._of[0]}`, scorer `{self._of[1]}`: {missing}")
        seen = in_order({*self._judge, *self._people}, None)
        labels = seen if order is None else [*order]
        if unknown := [label for label in seen if label not in labels]:
            raise UsageError(f"--order lacks the label `{unknown[0]}`; seen: {', '.join(seen)}")
        chosen = weights or ("quadratic" if self._value.kind in ("count", "number") or self._is_scale else "none")
        first, second = ([labels.index(text) for text in texts] for texts in (self._judge, self._people))
        repeated = len({*self._samples}) < len(self._samples)
        groups = np.unique(self._samples, return_inverse=True)[1].reshape(-1) if repeated else None
        found = agreement(first, second, weights=chosen, order=[*range(len(labels))], groups=groups, level=level)
        counts = confusion_of(np.array([second, first], dtype=np.intp).T.reshape(-1, 2), len(labels))
        return JudgeAgreement(
            task=self._of[0],
            scorer=self._of[1],
            value=self._value.name,
            labelled_by=self._labels or PEOPLE,
            weights=chosen,
            n=found.n,
            without_label=self._without_label,
            without_verdict=self._without_verdict,
            agreement=found.raw,
            agreement_interval=found.raw_interval,
            kappa=found.kappa,
            kappa_interval=found.kappa_interval,
            labels=labels,
            by_label=[
                _of_label(label, row, np.array(first), np.array(second), at, groups, level)
                for at, (label, row) in enumerate(zip(labels, counts, strict=True))
            ],
            reason=found.reason,
        )

    @property
    def _is_scale(self) -> bool:
        return self._value.name == "score" and self._value.kind == "share"


def _of_label(
    label: str, judged: list[int], first: Any, second: Any, at: int, groups: Any, level: float
) -> LabelAgreement:
    """How often the judge gives a label where people give it."""
    chosen = second == at
    same = (first[chosen] == at).astype(np.float64)
    interval = interval_of_mean(same, None if groups is None else groups[chosen], level, UNIT) if len(same) else None
    return LabelAgreement(
        label=label,
        n=len(same),
        judged=judged,
        same=float(same.mean()) if len(same) else None,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )
