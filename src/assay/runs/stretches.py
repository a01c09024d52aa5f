"""The beginning of a stretch of a run: what answers and what scores is compared with earlier stretches, and recorded.

A resume that another model would answer, or other versions would score, is refused, because its number would be that of
no model and no scoring. Weak signs prove nothing, so that a difference is reported and recorded. What shows only once
models answer (signs inside answers, what a server serves that was down) completes the record before those answers are
journaled.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.seams import Model, Served
from assay.core.types import Record, Usage
from assay.models.served import NotReachedError, probe, served_by
from assay.results.board.stretches import (
    EVALUATED,
    FOLDER,
    JUDGE,
    NOT_SAID,
    Stretch,
    answering,
    first_versions,
    judge_signs,
    last_canary,
    new_answers,
    read_stretches,
    served_models,
    shown,
    strong_signs,
    weak_signs,
    with_signs,
)
from assay.run_file import read_run_file, write_whole
from assay.runs.assemble import Parts
from assay.runs.earlier_attempts import attempts_in
from assay.runs.folder import rename, versions
from assay.runs.progress import Progress
from assay.runs.shard_files import Shard, holds_attempts
from assay.storage.checksum import with_checksums
from assay.text.printable import one_line


class AcceptedChanges(NamedTuple):
    """Differences from earlier stretches that the user accepts by name."""

    model_change: bool = False
    versions: bool = False


NOTHING_ACCEPTED = AcceptedChanges()


async def open_stretch(
    folder: Path,
    parts: Parts,
    accepted: AcceptedChanges,
    stop: Stop,
    progress: Progress,
    *,
    made: int,
    shard: Shard | None = None,
) -> OpenStretch:
    """Record what answers and what scores from now on; refuse what must not be mixed with the `made` attempts.

    Where all are made, no request is sent and nothing is recorded: the number is that of what answered then.
    """
    all_made = made >= attempts_in(parts.run_file)
    if all_made:
        refuse_late_canary(folder, parts)
    now, not_reached = await stretch_with(parts, shard)
    earlier = earlier_stretches(folder)
    comparison = _Comparison(folder, earlier, accepted, parts.config.label, progress)
    if not all_made:
        refuse_other_versions(folder, earlier, now, accepted)
    called = comparison.check(now, () if all_made else not_reached, all_made=all_made)
    stretch = OpenStretch(folder, now, not_reached, comparison)
    if all_made:
        progress.say(
            f"no request was sent: all {made:,} attempts were made {_days(earlier)}{called}; --fresh runs them again"
        )
        return stretch
    if parts.config.canary:
        from assay.runs.canary import ask_canaries, canary_sentence  # most runs ask none

        parts.models.bind(stop, progress.say)
        answers, usage = await ask_canaries(parts.model)
        stretch.now = msgspec.structs.replace(now, canary=answers, usage=usage)
        if remark := canary_sentence(answers, last_canary(earlier)):
            progress.warn(remark)
        if any(answer.answer is not None for answer in answers):
            await stretch.ask_again([EVALUATED])
    if not not_reached or parts.config.canary:
        stretch.record()
    return stretch


class _Comparison(NamedTuple):
    """What a stretch is compared with: the earlier ones of its run."""

    folder: Path
    earlier: Sequence[Stretch]
    accepted: AcceptedChanges
    label: str | None
    progress: Progress

    def check(self, now: Stretch, not_reached: Collection[str], *, all_made: bool = False) -> str:
        """Refuse other weights and report other signs; models that are not reached are compared once they are.

        Returns what the run was called until now, in words, where its label changes.
        """
        if not self.accepted.model_change:
            _refuse_other_weights(self.folder, self.earlier, now, not_reached, all_made=all_made)
        if not_reached:
            return ""
        return _renamed(self.folder, self.label, changes_since(self.earlier, now), self.progress)


class OpenStretch:
    """The stretch that goes on."""

    def __init__(
        self, folder: Path, now: Stretch, not_reached: Mapping[str, Model], comparison: _Comparison | None = None
    ) -> None:
        self.now = now
        self._folder = folder
        self._name = f"{time.time_ns():016x}-{os.urandom(4).hex()}"
        self._not_reached = dict(not_reached)
        """Models whose servers did not answer the probe, by what the names of their signs begin with."""
        self._is_recorded = False
        self._comparison = comparison
        """None on a node of a cluster: its driver has compared."""

    def record(self) -> None:
        self._is_recorded = True
        if self._comparison is None and _without_time(self.now) in map(_without_time, read_stretches(self._folder)[0]):
            return  # nodes that are alike are one stretch
        record_stretch(self._folder, self.now, self._name)

    async def complete(self, records: Sequence[Record]) -> None:
        """Add what only these records show, before they are journaled."""
        before = self.now
        if self._not_reached:
            names = _answering(records)
            await self.ask_again(
                [
                    whose
                    for whose, model in self._not_reached.items()
                    if (EVALUATED if whose == EVALUATED else model.name) in names
                ]
            )
        self.now = with_signs(self.now, records)
        # a stretch in which nothing was answered or scored has no share in the run
        if self.now is not before or (not self._is_recorded and any(record.scores for record in records)):
            self.record()

    def note_overridden(self, settings: Mapping[str, Sequence[str]]) -> None:
        """Settings of the run that no request of a task had; of several shares of a stretch, in all of them."""
        before = self.now.overridden or {}
        both = before | {
            task: [name for name in names if name in before.get(task, names)] for task, names in settings.items()
        }
        if both != before:
            self.now = msgspec.structs.replace(self.now, overridden=both)
            if any(both.values()) or any(before.values()):
                self.record()

    async def ask_again(self, models: Iterable[str]) -> None:
        """Ask servers that answer now what they serve, if they were down when the stretch began."""
        back = {whose: self._not_reached.pop(whose) for whose in models if whose in self._not_reached}
        if not back:
            return
        for whose, served in zip(back, await asyncio.gather(*map(served_by, back.values())), strict=True):
            if served is None:
                continue
            if whose == EVALUATED:
                self.now = msgspec.structs.replace(self.now, served=served)
            else:
                judge = whose.removeprefix(JUDGE).removesuffix(" ")
                self.now = msgspec.structs.replace(self.now, judges={**self.now.judges, judge: served})
        if self._comparison is not None:
            self._comparison.check(self.now, self._not_reached)


def _without_time(stretch: Stretch) -> Stretch:
    return msgspec.structs.replace(stretch, started="", shard="", canary=[], usage=[])


def _answering(records: Sequence[Record]) -> set[str]:
    """The judges that have answered these records, by name, and `EVALUATED`."""
    names = {EVALUATED for record in records if any(new_answers(record))}
    used = [usage for record in records for usage in record.usage if usage.answers > usage.cached]
    return names | {usage.model if usage.judge else EVALUATED for usage in used}


def refuse_late_canary(folder: Path, parts: Parts) -> None:
    """Answers given now would say nothing about a run whose attempts are all made."""
    if parts.config.canary and not last_canary(read_stretches(folder)[0]):
        raise UsageError(
            f"--canary: every attempt of {folder} is made, and what answers now says nothing about them. "
            "Start over (--fresh), or use another --run-dir."
        )


async def stretch_with(parts: Parts, shard: Shard | None = None) -> tuple[Stretch, dict[str, Model]]:
    """A stretch that begins now, with what the run's models say that they serve; and those whose servers are down."""
    models: dict[str, Model] = {EVALUATED: parts.model}
    models |= {judge_signs(name): judge for name, judge in parts.models.judges_by_model.items()}
    answers = await asyncio.gather(*map(probe, models.values()), return_exceptions=True)
    served: dict[str, Served] = {}
    not_reached: dict[str, Model] = {}
    for (whose, model), answer in zip(models.items(), answers, strict=True):
        if isinstance(answer, NotReachedError):
            not_reached[whose] = model
        elif isinstance(answer, BaseException):
            raise answer
        elif answer is not None:
            served[whose] = answer
    judges = {name: served[judge_signs(name)] for name in parts.models.judges_by_model if judge_signs(name) in served}
    now = msgspec.structs.replace(stretch_now(shard), served=served.get(EVALUATED), judges=judges, notes=parts.notes)
    return now, not_reached


def stretch_now(shard: Shard | None = None) -> Stretch:
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Stretch(started=started, versions=versions(), shard=_share(shard))


def _share(shard: Shard | None) -> str:
    return "" if shard is None else f"{shard.start}-{shard.stop}"


def earlier_stretches(folder: Path) -> list[Stretch]:
    """The stretches whose attempts a resume would continue: none before the first attempt."""
    if not holds_attempts(folder):
        return []
    stretches, damaged = read_stretches(folder)
    if damaged:
        raise UsageError(
            f"{folder / damaged[0]}: was changed or damaged after it was written, so whether the same model answers as "
            "before cannot be checked. Delete the file to resume without the check, or use --fresh to start over."
        )
    return [first_versions(read_run_file(folder)), *stretches]


def refuse_other_versions(folder: Path, earlier: Sequence[Stretch], now: Stretch, accepted: AcceptedChanges) -> None:
    """Attempts that other versions would score are refused, unless they have scored some of them already."""
    scored_by = [stretch.versions for stretch in earlier if stretch.versions]
    if accepted.versions or not scored_by or now.versions in scored_by:
        return
    before, here = _differing(scored_by[-1], now.versions)
    raise UsageError(
        f"{folder}: its attempts were scored with {before}; installed here: {here}. Resuming would mix two ways of "
        "scoring in one number. Install the earlier versions, start over (--fresh, or another --run-dir), or use "
        "--accept-versions to mix them, which the leaderboard then says."
    )


def _refuse_other_weights(
    folder: Path, earlier: Sequence[Stretch], now: Stretch, not_reached: Collection[str], *, all_made: bool
) -> None:
    """Of each model that an earlier stretch identified; one that says nothing now can answer nothing more."""
    served = [served_models(item) for item in answering(earlier)]
    for whose in sorted({whose for item in served for whose in item}.difference(not_reached)):
        before = [item[whose].strong for item in served if whose in item and item[whose].strong]
        model = served_models(now).get(whose)
        strong = model.strong if model is not None else {}
        if not before or any(agree(item, strong) for item in before) or (all_made and not strong):
            continue
        was, is_now = _differing(before[-1], strong, whose=whose, absent=NOT_SAID)
        found = f"{is_now}: other weights" if strong else "nothing that names their weights, which may be others"
        end = (
            "Every attempt is made, so the new ones would get no request. Start over (--fresh, or another --run-dir), "
            "or use --accept-model-change to be given the earlier result."
            if all_made
            else "Resuming would mix two models in one number. Start over (--fresh, or another --run-dir), or use "
            "--accept-model-change to mix them, which the leaderboard then says."
        )
        raise UsageError(
            f"{folder}: its attempts were made with {was}; the server or the files now have {found}. {end}"
        )


def agree(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Whether two strong identities are the same: what both name is equal, and they name something in common."""
    common = a.keys() & b.keys()
    return bool(common) and all(a[name] == b[name] for name in common)


async def open_on_node(folder: Path, parts: Parts) -> OpenStretch:
    """Record what answers and scores on a node of a cluster, if it is not what answers and scores elsewhere."""
    now, not_reached = await stretch_with(parts)
    stretch = OpenStretch(folder, now, not_reached)
    if not not_reached:
        stretch.record()
    return stretch


def changes_since(earlier: Sequence[Stretch], now: Stretch) -> list[str]:
    """What is said about the models otherwise than in every earlier stretch; by answers once there are any."""
    if not answering(earlier):
        return []
    if now.answered is None:
        earlier = [msgspec.structs.replace(stretch, answered=None) for stretch in earlier]
    before, here = (strong_signs(item) | weak_signs(item) for item in (earlier, [now]))
    not_said = (NOT_SAID,)
    return [
        f"{name} was {shown(before.get(name, not_said)[-1])}, now {shown(here.get(name, not_said)[0])}"
        for name in {**before, **here}
        if here.get(name, not_said)[0] not in before.get(name, not_said)
    ]


def _renamed(folder: Path, label: str | None, changes: Sequence[str], progress: Progress) -> str:
    """Give the run its new label, unless another model may have answered it; returns what it was called, in words."""
    earlier = read_run_file(folder)
    is_new = label != earlier.config.label
    if changes:
        kept = f"; the run is still called `{one_line(earlier.model_label)}`" if is_new else ""
        progress.warn(f"the server describes the model otherwise than before: {'; '.join(changes)}{kept}")
    elif is_new:
        rename(folder, label)
        return f", as `{one_line(earlier.model_label)}`"
    return ""


def _days(stretches: Sequence[Stretch]) -> str:
    days = sorted({one_line(stretch.started[:10]) for stretch in answering(stretches) or stretches})
    return f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"


def record_stretch(folder: Path, stretch: Stretch, name: str | None = None) -> None:
    name = name or f"{time.time_ns():016x}-{os.urandom(4).hex()}"
    write_whole(folder / FOLDER / f"{name}.json", with_checksums([msgspec.json.encode(stretch)], 1))


def open_rescoring(run: Path, folder: Path, accepted: AcceptedChanges, judges: dict[str, Served]) -> None:
    """Record what scores the answers of `run` from now on in `folder`, and which `judges` do; what answered them stays
    what it was.
    """
    now = msgspec.structs.replace(stretch_now(), scores_only=True, judges=judges)
    refuse_other_versions(folder, earlier_stretches(folder), now, accepted)
    _take_over(run, folder)
    record_stretch(folder, now)


def _take_over(run: Path, folder: Path) -> None:
    stretches, damaged = read_stretches(run)
    if damaged:
        raise UsageError(f"{run / damaged[0]}: was changed or damaged after it was written; delete it to leave it out")
    for number, stretch in enumerate(answering(stretches)):
        answers = msgspec.structs.replace(stretch, versions={}, usage=[])
        record_stretch(folder, answers, f"{number:016x}-answers")


def canary_usage(folder: Path, shard: Shard | None = None) -> list[Usage]:
    """What earlier canaries of a run, or of a shard, used: a budget is that of all stretches."""
    stretches = [item for item in read_stretches(folder)[0] if shard is None or item.shard == _share(shard)]
    return [usage for stretch in stretches for usage in stretch.usage]


def _differing(
    before: Mapping[str, str], now: Mapping[str, str], *, whose: str = "", absent: str = "(none)"
) -> tuple[str, str]:
    """What differs, on each side, in words."""
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]

    def listed(values: Mapping[str, str]) -> str:
        return ", ".join(f"{whose}{name} {shown(values[name]) if name in values else absent}" for name in names)

    return listed(before), listed(now)
