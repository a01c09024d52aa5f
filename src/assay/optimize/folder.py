"""The folder of a search: started, resumed, moved aside or reused from, and what is written there at the end."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.core.regular_file import read_regular
from assay.core.seams import Model
from assay.evaluators.payload import Evaluator
from assay.optimize.journal import FILE
from assay.optimize.page import page
from assay.optimize.results import Result
from assay.optimize.search_settings import HOLDOUT
from assay.optimize.sets import SearchSets
from assay.optimize.settings import SearchSettings
from assay.run_file import SEARCH_SCHEMA, Repair, sealed_as, write_whole
from assay.runs.folder import put_aside, record_change, take_folder
from assay.runs.progress import Progress
from assay.user.seal import is_sealed, refuse_foreign


class SearchFolder(Struct, frozen=True, kw_only=True):
    """Where a search is written, and what it may take from others."""

    path: Path | None = None
    """None: `runs/optimize-<hash>`."""
    fresh: bool = False
    resume_foreign: bool = False
    reuse: tuple[Path, ...] = ()
    """Searches whose evaluations are taken where they fit."""
    branch: Path | None = None
    """A search whose proposals are taken too: this one continues it, and leaves it as it is."""


class SearchFile(Struct, frozen=True, kw_only=True):
    """`run.json` of a search: what makes it this one, and what it was last run with, each part by its hash."""

    schema: str
    fingerprint: str
    parts: dict[str, str]
    created: str
    holdout: float
    """The part of the data that was held out."""
    last: dict[str, str] = {}
    repairs: tuple[Repair, ...] = ()
    """Each time that `assay repair` set damaged lines aside."""


def prepare_folder(
    folder: Path,
    settings: SearchSettings,
    evaluator: Evaluator,
    proposer: Model,
    sets: SearchSets,
    earlier: SearchFile | None,
    where: SearchFolder,
    progress: Progress,
) -> SearchFile:
    if where.fresh and (folder / "run.json").exists():
        put_aside(folder)
    if earlier is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is not empty and holds no search; choose another --run-dir")
    identity = settings.identity(evaluator, sets)
    share = settings.holdout if settings.holdout is not None else (HOLDOUT if not settings.testset else 0.0)
    now = SearchFile(
        schema=SEARCH_SCHEMA,
        fingerprint=fingerprint(identity),
        parts=identity,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if earlier is None else earlier.created,
        holdout=share if earlier is None else earlier.holdout,
        last=settings.changeable(proposer, sets),
        repairs=() if earlier is None else earlier.repairs,
    )
    parts = identity if earlier is None else earlier.parts
    changed = [f"{name} changed" for name in {**parts, **identity} if parts.get(name) != identity.get(name)]
    foreign = earlier is not None and not where.resume_foreign
    try:
        take_folder(folder, now, earlier, changed=changed, refuse_if_foreign=foreign)
    except UsageError as error:
        if not changed:
            raise
        raise UsageError(
            f"{error} --reuse {folder} takes its evaluations, --branch {folder} its proposals too."
        ) from None
    if earlier is not None and earlier.last != now.last:
        # a folder of an earlier version knows less of what it was run with
        others = [name for name, part in now.last.items() if earlier.last.get(name, part) != part]
        if others:
            progress.say(f"continuing this search with what changed since: {', '.join(others)}")
        record_change(folder, now)
    return now


def earlier_search(path: Path) -> SearchFile | None:
    if not path.exists():
        return None
    try:
        earlier = msgspec.json.decode(read_regular(path), type=SearchFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir") from error
    if earlier.schema != SEARCH_SCHEMA:
        raise UsageError(f"{path}: is not the run.json of a search; choose another --run-dir")
    return earlier


def lenders_of(where: SearchFolder) -> list[tuple[Path, tuple[str, ...]]]:
    """The searches that answers are taken from, and which kinds; other users' need `resume_foreign`."""
    lenders: list[tuple[Path, tuple[str, ...]]] = [(path, ("evaluation",)) for path in where.reuse]
    if where.branch is not None:
        lenders.append((where.branch, ("evaluation", "proposal")))
    for path, _ in lenders:
        earlier = earlier_search(path / "run.json")
        if earlier is None or not (path / FILE).exists():
            raise UsageError(f"{path}: holds no search to take answers from")
        if not where.resume_foreign and not is_sealed(path, sealed_as(earlier)):
            refuse_foreign(path)
    return lenders


def write_files(folder: Path, result: Result) -> None:
    """The summary, the best text or texts, and the page."""
    summary = msgspec.json.format(msgspec.json.encode(result, enc_hook=repr), indent=2)
    files = {"summary.json": summary, "best.txt": result.best.encode()}
    files |= {f"best/{name}.txt": text.encode() for name, text in result.best_components.items()}
    files["page.html"] = page(result).encode()
    for name, data in files.items():
        write_whole(folder / name, data)
