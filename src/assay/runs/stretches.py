"""The beginning of a stretch of a run: what answers and what scores is compared with earlier stretches, and recorded.

A resume that another model would answer, or other versions would score, is refused, because its number would be that of
no model and no scoring. Weak signs prove nothing, so that a difference is reported and recorded.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.checksum import with_checksums
from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.run_file import read_run_file, write_whole
from assay.core.types import Usage
from assay.models.served import served_by
from assay.reports.board.stretches import (
    FOLDER,
    Stretch,
    first_versions,
    last_canary,
    read_stretches,
    shown,
    strong_of,
    weak_signs,
)
from assay.runs.assemble import Parts
from assay.runs.folder import versions
from assay.runs.progress import Progress
from assay.runs.shard_files import Shard, holds_attempts


class AcceptedChanges(NamedTuple):
    """Differences from earlier stretches that the user accepts by name."""

    model_change: bool = False
    versions: bool = False


NOTHING_ACCEPTED = AcceptedChanges()


async def open_stretch(
    folder: Path, parts: Parts, accepted: AcceptedChanges, stop: Stop, progress: Progress, *, shard: Shard | None = None
) -> None:
    """Record what answers and what scores from now on; refuse what must not be mixed with the folder's attempts."""
    now = await stretch_with(parts, shard)
    if earlier := earlier_stretches(folder):
        refuse_other_versions(folder, earlier, now, accepted)
        _refuse_other_weights(folder, earlier, now, accepted)
        for sentence in weak_changes(earlier, now):
            progress.warn(sentence)
    if parts.config.canary:
        from assay.runs.canary import ask_canaries, canary_sentence  # most runs ask none

        parts.models.bind(stop, progress.say)
        answers, usage = await ask_canaries(parts.model)
        now = msgspec.structs.replace(now, canary=answers, usage=usage)
        if remark := canary_sentence(answers, last_canary(earlier)):
            progress.warn(remark)
    record_stretch(folder, now)


def refuse_late_canary(folder: Path, parts: Parts) -> None:
    """Answers given now would say nothing about a run whose attempts are all made."""
    if parts.config.canary and not last_canary(read_stretches(folder)[0]):
        raise UsageError(
            f"--canary: every attempt of {folder} is made, and what answers now says nothing about them. "
            "Start over (--fresh), or use another --run-dir."
        )


async def stretch_with(parts: Parts, shard: Shard | None = None) -> Stretch:
    """A stretch that begins now, with what the run's models say that they serve."""
    judges = parts.models.judges
    served, *others = await asyncio.gather(served_by(parts.model), *map(served_by, judges))
    said = {judge.name: other for judge, other in zip(judges, others, strict=True) if other is not None}
    return msgspec.structs.replace(stretch_now(shard), served=served, judges=said)


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
    scored_by = [each.versions for each in earlier if each.versions]
    if accepted.versions or not scored_by or now.versions in scored_by:
        return
    before, here = _differing(scored_by[-1], now.versions)
    raise UsageError(
        f"{folder}: its attempts were scored with {before}; installed here: {here}. Resuming would mix two ways of "
        "scoring in one number. Install the earlier versions, start over (--fresh, or another --run-dir), or use "
        "--accept-versions to mix them, which the leaderboard then says."
    )


def _refuse_other_weights(folder: Path, earlier: Sequence[Stretch], now: Stretch, accepted: AcceptedChanges) -> None:
    strong = strong_of(now)
    before = [signs for each in earlier if (signs := strong_of(each)).keys() & strong.keys()]
    if accepted.model_change or not before or any(agree(each, strong) for each in before):
        return
    was, is_now = _differing(before[-1], {name: strong[name] for name in before[-1] if name in strong})
    raise UsageError(
        f"{folder}: its attempts were made with {was}; the server or the files now have {is_now}: other weights. "
        "Resuming would mix two models in one number. Start over (--fresh, or another --run-dir), or use "
        "--accept-model-change to mix them, which the leaderboard then says."
    )


def agree(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Whether two strong identities are the same: what both name is equal, and they name something in common."""
    common = a.keys() & b.keys()
    return bool(common) and all(a[name] == b[name] for name in common)


async def record_node(folder: Path, parts: Parts) -> None:
    """Record what answers and scores on a node of a cluster, if it is not what answers and scores elsewhere."""
    now = await stretch_with(parts)
    known = [(each.versions, each.served, each.judges) for each in read_stretches(folder)[0]]
    if (now.versions, now.served, now.judges) not in known:
        record_stretch(folder, now)


def weak_changes(earlier: Sequence[Stretch], now: Stretch) -> list[str]:
    """What the server says otherwise than in every earlier stretch, in one sentence; it stops nothing."""
    weak = {name: values[0] for name, values in weak_signs([now]).items()}
    changes = [
        f"{name} was {shown(values[-1])}, now {shown(weak[name]) if name in weak else 'not said'}"
        for name, values in weak_signs(earlier).items()
        if weak.get(name) not in values
    ]
    return [f"the server describes the model otherwise than before: {'; '.join(changes)}"] if changes else []


def record_stretch(folder: Path, stretch: Stretch, name: str | None = None) -> None:
    name = name or f"{time.time_ns():016x}-{os.urandom(4).hex()}"
    write_whole(folder / FOLDER / f"{name}.json", with_checksums([msgspec.json.encode(stretch)], 1))


def open_rescoring(run: Path, folder: Path, accepted: AcceptedChanges) -> None:
    """Record what scores the answers of `run` from now on in `folder`; what answered them stays what it was."""
    now = stretch_now()
    refuse_other_versions(folder, earlier_stretches(folder), now, accepted)
    _take_over(run, folder)
    record_stretch(folder, now)


def _take_over(run: Path, folder: Path) -> None:
    stretches, damaged = read_stretches(run)
    if damaged:
        raise UsageError(f"{run / damaged[0]}: was changed or damaged after it was written; delete it to leave it out")
    for number, stretch in enumerate(stretches):
        if stretch.served is not None or stretch.judges or stretch.canary:
            answers = msgspec.structs.replace(stretch, versions={}, usage=[])
            record_stretch(folder, answers, f"{number:016x}-answers")


def canary_usage(folder: Path, shard: Shard | None = None) -> list[Usage]:
    """What earlier canaries of a run, or of a shard, used: a budget is that of all stretches."""
    stretches = [each for each in read_stretches(folder)[0] if shard is None or each.shard == _share(shard)]
    return [usage for stretch in stretches for usage in stretch.usage]


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, str]:
    """What differs, on each side, in words."""
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]

    def listed(values: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {shown(values[name]) if name in values else '(none)'}" for name in names)

    return listed(before), listed(now)
