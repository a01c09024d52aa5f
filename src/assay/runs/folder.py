"""The folder of a run: who made it, its `run.json`, and what confined model-written code on each machine.

Nothing else writes these files. A folder holds one run; a different one is refused, or moved aside with `--fresh`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec

from assay.core.errors import UsageError
from assay.core.journal import lock_journal, read_records
from assay.costs.prices import keep_prices, keep_prices_of
from assay.models.layers.thinking import without_thinking
from assay.results.board.sandboxes import FOLDER as SANDBOXES
from assay.run_file import RunFile, SealedFile, read_run_file, sealed_as, write_whole
from assay.runs.shard_files import Shard, holds_attempts
from assay.text.wording import setting_in_words
from assay.trust.consent import code_seal
from assay.user.seal import is_sealed, refuse_foreign, seal_folder

LOOKED_AT = 100
"""Attempts of a run that are looked at for blocks of thinking: a model that thinks does so in most answers."""


def default_folder(run_file: RunFile, within: Path = Path("runs")) -> Path:
    """The folder that the same command always gets: named by tasks, model, and a piece of the fingerprint."""
    names = [definition.name for definition in run_file.definitions]
    model = "-".join(item for item in (str(run_file.model["name"]), run_file.config.prompt) if item)
    tasks = "-".join(names) if len(names) <= 2 else f"{names[0]}-and-{len(names) - 1}-more"
    readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in f"{model}-{tasks}")
    return within / f"{readable[:80].strip('-.')}-{run_file.fingerprint[:8]}"


def prepare_folder(
    folder: Path,
    run_file: RunFile,
    *,
    fresh: bool = False,
    resume_foreign: bool = False,
    shard: Shard | None = None,
) -> None:
    """The folder holds this run or none; another run in it is refused, or moved aside when `fresh`.

    Attempts that another user or machine made are refused, unless `resume_foreign`; a shard looks at its own only.
    """
    refuse_task_folder(folder, run_file)
    path = folder / "run.json"
    if fresh and (path.exists() or holds_attempts(folder)):
        put_aside(folder)
    earlier = read_run_file(folder) if path.exists() else None
    changed = (
        what_changed(earlier, run_file) if earlier is not None and earlier.fingerprint != run_file.fingerprint else []
    )
    foreign = not resume_foreign and holds_attempts(folder, shard)
    take_folder(folder, run_file, earlier, changed=changed, refuse_if_foreign=foreign)
    if earlier is not None and not run_file.config.keep_thinking:
        refuse_scored_thinking(folder)
    if earlier is not None and (earlier.sandbox or {}).get("tier") != (run_file.sandbox or {}).get("tier"):
        record_sandbox(folder, run_file)
    if earlier is not None and (described := _described_as(earlier, run_file)) != earlier:
        record_change(folder, described)
    if seal := code_seal(run_file.definitions):  # its code was trusted, or this run would not have begun
        seal_folder(folder, seal)
    keep_prices(folder, run_file.config.prices)


def _described_as(earlier: RunFile, now: RunFile) -> RunFile:
    """The run with what its parts and its project say now, which does not make it another one."""
    parts = {definition.name: definition for definition in now.definitions}
    definitions = tuple(
        msgspec.structs.replace(
            definition,
            scorers=parts[definition.name].scorers,
            aggregates=parts[definition.name].aggregates,
            shown=parts[definition.name].shown,
        )
        for definition in earlier.definitions
    )
    return msgspec.structs.replace(earlier, definitions=definitions)


def refuse_task_folder(folder: Path, run_file: RunFile) -> None:
    """A journal next to the tasks would be read as one of them the next time."""
    sources = [Path(definition.source) for definition in run_file.definitions if definition.source]
    where = os.path.realpath(folder)
    if inside := next((path for path in sources if path.is_file() and os.path.realpath(path.parent) == where), None):
        raise UsageError(f"--run-dir {folder}: holds the task file {inside}; choose another folder, such as runs/NAME")


def refuse_scored_thinking(folder: Path) -> None:
    """A run begun before thoughts were kept apart from answers has scored them: the rest would be scored otherwise."""
    path = folder / "journal.jsonl"
    for record in islice(read_records(path), LOOKED_AT) if path.exists() else ():
        completions = record.trace.completions if record.trace else ()
        if any(without_thinking(completion) is not completion for completion in completions):
            raise UsageError(
                f"{folder}: its answers were scored with their blocks of thinking (sample `{record.sample_id}`), "
                "which are no longer part of an answer: resuming would mix two scorings. Start over with --fresh, "
                "or with --keep-thinking in another --run-dir."
            )


def take_folder(
    folder: Path, now: SealedFile, earlier: SealedFile | None, *, changed: Sequence[str], refuse_if_foreign: bool
) -> None:
    """Make the folder that of `now`, whose `run.json` is `earlier` if it has one. What differs is refused, and so is,
    with `refuse_if_foreign`, what somebody else has made.
    """
    if changed:
        raise UsageError(
            f"{folder}: holds another run: {', '.join(changed)}. "
            "Use --fresh to move it aside and start over, or another --run-dir."
        )
    ours = earlier is not None and is_sealed(folder, sealed_as(earlier))
    if not ours and refuse_if_foreign:
        refuse_foreign(folder)
    if earlier is None:
        _write(folder, now)
    if not ours:
        seal_folder(folder, sealed_as(earlier or now))


def rename(folder: Path, label: str | None) -> None:
    """Give the model another label; it stays the same run."""
    earlier = read_run_file(folder)
    config = msgspec.structs.replace(earlier.config, label=label)
    record_change(folder, msgspec.structs.replace(earlier, config=config))


def record_change(folder: Path, now: SealedFile) -> None:
    """Record what a resumed run or search does differently from now on; it stays the same one."""
    _write(folder, now)


def refuse_rescored(folder: Path, run_file: RunFile, *, may_be_finished: bool = False) -> None:
    """An interrupted rescore can be resumed; finished attempts keep the scores of the code at that time.

    One that `may_be_finished` may lack verdicts of judges that failed, or that its budget did not reach.
    """
    if not (folder / "run.json").exists():
        return
    there = read_run_file(folder)
    same = (there.fingerprint, there.answers_of) == (run_file.fingerprint, run_file.answers_of)
    if not same or (not may_be_finished and (folder / "leaderboard.json").exists()):
        raise UsageError(f"{folder}: there is a run already; choose another folder with --run-dir")


def prepare_rescored(folder: Path, run_file: RunFile, run: Path, earlier: RunFile) -> None:
    """A folder for new scores of the answers in `run`: trusted as much as that one, at the same prices."""
    if (folder / "run.json").exists():
        return
    _write(folder, run_file)
    if is_sealed(run, sealed_as(earlier)):
        seal_folder(folder, sealed_as(run_file))
    keep_prices_of(folder, run)


def record_sandbox(folder: Path, run_file: RunFile) -> None:
    """Record what this machine had, if anything was to be confined here."""
    if run_file.sandbox is not None:
        write_whole(folder / SANDBOXES / f"{os.uname().nodename}.json", msgspec.json.encode(run_file.sandbox))


def what_changed(earlier: RunFile, now: RunFile) -> list[str]:
    """Why two runs are not the same, in words."""
    changes = []
    for name in sorted({*earlier.tasks, *now.tasks}):
        if earlier.tasks.get(name) != now.tasks.get(name):
            state = "changed" if name in earlier.tasks and name in now.tasks else "is in only one of them"
            changes.append(f"task `{name}` {state}")
    for what, then, since in (("model ", earlier.model, now.model), ("", earlier.settings, now.settings)):
        for key in sorted({*then, *since}):
            if then.get(key) != since.get(key):
                was, now_is = setting_in_words(then.get(key)), setting_in_words(since.get(key))
                changes.append(f"{what}{key} was {was}, now {now_is}")
    return changes or ["its fingerprint differs"]


def versions() -> dict[str, str]:
    """The versions of everything that affects a number."""
    known = {"python": platform.python_version(), "platform": f"{sys.platform}-{platform.machine()}"}
    packages = {name.replace("-", "_"): name for name in ("assay-eval", "msgspec", "numpy", "rapidfuzz", "httptools")}
    for folder in sys.path:
        # an installer leaves NAME-VERSION.dist-info; `importlib.metadata` reads the same, and costs a tenth of a start
        for entry in _names_in(folder):
            name, _, version = entry.removesuffix(".dist-info").partition("-")
            if entry.endswith(".dist-info") and name in packages:
                known.setdefault(packages[name], version)
    return known


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:  # a zip file, or a folder that is not there
        return []


def _write(folder: Path, run_file: SealedFile) -> None:
    write_whole(folder / "run.json", msgspec.json.format(msgspec.json.encode(run_file), indent=2))


def put_aside(folder: Path) -> None:
    """Give the folder another name; refused while another process writes there."""
    os.close(lock_journal(folder / "journal.jsonl"))
    number = 1
    while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    shutil.move(folder, aside)
