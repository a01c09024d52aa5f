"""The stretches of a run, from each start or resume to its end: what answered, what scored, one small file for each.

    stretches/<time>-<random>.json

A file is written whole, before the first request of its stretch, so that a kill leaves it there or not; shards and
nodes each write their own, and a merge has nothing to do. Its one line ends with a checksum, as those of a journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.core.seams import Served
from assay.core.types import Completion, Record, Usage
from assay.costs.spending import Spending
from assay.run_config import RunConfig
from assay.run_file import RunFile
from assay.setting import flag_of
from assay.storage.checksum import is_intact
from assay.text.printable import one_line
from assay.text.wording import few

FOLDER = "stretches"
HASH_SHOWN = 12
NOT_KNOWN = "not known: neither a server nor files say which weights answered"
EVALUATED, JUDGE = "", "judge "
"""What the names of signs begin with: nothing for the evaluated model."""
NAMED_IN_ANSWERS = ("model", "system_fingerprint")
"""What answers of servers say about themselves; `model` where it is not the one asked for."""
MOST_NAMED = 20
"""Values of one sign that a stretch keeps: a server may make up a new one for each answer."""
NOT_SAID = "not said"
"""The value of a sign in a stretch that lacks it."""


class CanaryAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a prompt that every run with `--canary` asks first."""

    prompt: str
    answer: str | None = None
    failure: str | None = None
    """Why there is no answer."""


class Stretch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One start or resume of a run."""

    started: str
    versions: dict[str, str] = {}
    """Of what computes scores; empty where only answers were taken over, as by a rescore."""
    served: Served | None = None
    """What the server or the files said that they serve; None: they did not say."""
    judges: dict[str, Served] = {}
    """The same of each judge and other model that the tasks call, where it said something."""
    answered: dict[str, list[str]] | None = None
    """What answers of the evaluated model named themselves (`NAMED_IN_ANSWERS`), each value once; None: none came."""
    shard: str = ""
    """The samples that this process had, where it had a share of the run."""
    scores_only: bool = False
    """The evaluated model was sent no request: answers that were there were scored."""
    notes: list[str] = []
    """What was not done as a project or a file has it."""
    overridden: dict[str, list[str]] = {}
    """Settings of the run that every request of a task had another value for, by task; those without requests, or
    whose end was not reached, are absent."""
    canary: list[CanaryAnswer] = []
    usage: list[Usage] = []
    """What the canary used."""


def read_stretches(folder: Path) -> tuple[list[Stretch], list[str]]:
    """The stretches of a run in the order they began, and the names of files that were damaged or changed."""
    stretches, damaged = [], []
    for path in sorted((folder / FOLDER).glob("*.json")):
        try:
            line = read_regular(path)
            if not is_intact(line):
                raise ValueError("its checksum does not match")
            stretches.append(msgspec.json.decode(line, type=Stretch))
        except (OSError, UsageError, ValueError, msgspec.MsgspecError, RecursionError):
            damaged.append(f"{FOLDER}/{path.name}")
    return stretches, damaged


def first_versions(run: RunFile) -> Stretch:
    """What a run was to be scored with when it was created."""
    return Stretch(started=run.created, versions=run.versions, scores_only=True)


def answering(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Those whose requests a model answered."""
    return [stretch for stretch in stretches if not stretch.scores_only]


Signs = dict[str, tuple[str, ...]]
"""Names to all values that a run saw, in order."""


def served_models(stretch: Stretch) -> dict[str, Served]:
    """What was served, by what the names of its signs begin with."""
    evaluated = {} if stretch.served is None else {EVALUATED: stretch.served}
    return evaluated | {judge_signs(judge): served for judge, served in stretch.judges.items()}


def judge_signs(judge: str) -> str:
    return f"{JUDGE}{judge} "


def new_answers(record: Record) -> Iterator[Completion]:
    """The answers that the evaluated model gave for this record, not for an earlier line or another run."""
    if record.trace is not None and not record.continued:
        yield from (completion for completion in record.trace.completions if not completion.cached)


def with_signs(stretch: Stretch, records: Iterable[Record]) -> Stretch:
    """The stretch with what the answers of these records name; the same object if it has all of it already."""
    for record in records:
        for completion in new_answers(record):
            if stretch.answered is None:
                stretch = msgspec.structs.replace(stretch, answered={})
            for name in NAMED_IN_ANSWERS if completion.raw else ():
                known = (stretch.answered or {}).get(name, [])
                value = (completion.raw or {}).get(name)
                if isinstance(value, str) and value not in known and len(known) < MOST_NAMED:
                    stretch = msgspec.structs.replace(
                        stretch, answered={**(stretch.answered or {}), name: sorted([*known, value])}
                    )
    return stretch


def strong_signs(stretches: Sequence[Stretch]) -> Signs:
    """The strong signs of the evaluated model and, under their names, of judges."""
    return _signs(stretches, lambda served: served.strong)


def weak_signs(stretches: Sequence[Stretch]) -> Signs:
    """The weak ones, and what answers name; several values in the answers of one stretch are one sign."""
    return _signs(stretches, lambda served: served.weak) | _signs_in_answers(stretches)


def _signs_in_answers(stretches: Sequence[Stretch]) -> Signs:
    each_has = [item.answered for item in answering(stretches) if item.answered is not None]
    names = [name for name in NAMED_IN_ANSWERS if any(name in has for has in each_has)]
    return merged({_in_answers(name): ", ".join(has.get(name, [NOT_SAID])) for name in names} for has in each_has)


def _in_answers(name: str) -> str:
    return f"{name} in answers"


def _signs(stretches: Sequence[Stretch], part: Callable[[Served], Mapping[str, str]]) -> Signs:
    """A sign that one stretch has and another lacks was not said there, which is a value of its own."""
    each_has = [
        {
            f"{whose}{name}": value
            for whose, served in served_models(item).items()
            for name, value in part(served).items()
        }
        for item in answering(stretches)
    ]
    names = dict.fromkeys(name for has in each_has for name in has)
    return merged({name: has.get(name, NOT_SAID) for name in names} for has in each_has)


def versions_of(stretches: Sequence[Stretch]) -> dict[str, str]:
    """The version of each package that scored; several are joined."""
    return {name: ", ".join(values) for name, values in merged(stretch.versions for stretch in stretches).items()}


def stretch_notices(
    stretches: Sequence[Stretch], damaged: Sequence[str], answered: Mapping[str, Mapping[str, int]]
) -> list[str]:
    """What a reader of the numbers must know: that not all come from one model, or from one version of the scoring."""
    notices = [
        f"{'answers of weights that are not known' if NOT_SAID in values else 'answers of more than one model'}: "
        f"{name} {' and '.join(map(shown, values))}"
        for name, values in strong_signs(stretches).items()
        if len(values) > 1
    ]
    versions = merged(stretch.versions for stretch in stretches)
    several = [f"{name} {' and '.join(values)}" for name, values in versions.items() if len(values) > 1]
    if several:
        notices.append(f"scored under several versions: {', '.join(several)}")
    changed = {name: values for name, values in weak_signs(stretches).items() if len(values) > 1}
    notices += [
        f"what the server says about the model changed in between: {name} {' → '.join(map(shown, values))}"
        for name, values in changed.items()
    ]
    notices += [
        f"answers name several values of `{name}`: "
        + ", ".join(f"{shown(value)} ({count:,})" for value, count in counts.items())
        for name, counts in answered.items()
        if len(counts) > 1 and _in_answers(name) not in changed
    ]
    notices += overridden_settings(stretches)
    notices += dict.fromkeys(one_line(note) for stretch in stretches for note in stretch.notes)
    if damaged:
        notices.append(f"damaged, so what answered is not fully known: {', '.join(damaged)}")
    return notices


def overridden_settings(stretches: Sequence[Stretch]) -> list[str]:
    """The settings that had no effect in a task, because it or code of the user's own sets them in every request."""
    each_has = [(task, names) for stretch in stretches for task, names in stretch.overridden.items()]
    tasks = {task for task, _ in each_has}
    sentences = []
    for setting in dict.fromkeys(name for _, names in each_has for name in names):
        without = [*dict.fromkeys(task for task, names in each_has if setting in names)]
        where = "" if len(without) == len(tasks) else f" in {few([f'`{task}`' for task in without])}"
        if any(setting not in names for task, names in each_has if task in without):
            where += " in a part of the run"
        sentences.append(f"{flag_of(RunConfig, setting)} had no effect{where}: every request had a value of its own")
    return sentences


def served_in_words(stretches: Sequence[Stretch]) -> str:
    """What was served, in one line; empty where it is not known."""
    parts = []
    for kind, signs in (("strong", strong_signs(stretches)), ("weak", weak_signs(stretches))):
        if signs:
            listed = ", ".join(f"{name} {' → '.join(map(shown, values))}" for name, values in signs.items())
            parts.append(f"{listed} ({kind})")
    return "; ".join(parts)


def same_model(a: Sequence[Stretch], b: Sequence[Stretch]) -> bool | None:
    """Whether the same weights answered two runs: only strong signs decide; None where none is in every stretch."""
    first, second = (merged(item.served.strong for item in answering(run) if item.served is not None) for run in (a, b))
    common = first.keys() & second.keys()
    if any(len(first[name]) > 1 or first[name] != second[name] for name in common):
        return False
    each_has = [set() if item.served is None else {*item.served.strong} for item in answering([*a, *b])]
    return True if common and set.intersection(*each_has) else None


def served_changes(a: Sequence[Stretch], b: Sequence[Stretch]) -> list[str]:
    """What differs between what two runs were served, each sign with what it proves."""
    changes = []
    for signs in (strong_signs, weak_signs):
        before, after = signs(a), signs(b)
        for name in sorted({*before, *after}):
            then, now = (item.get(name, (NOT_SAID,)) for item in (before, after))
            if then == now or (signs is strong_signs and not (name in before and name in after)):
                continue
            not_known = "weights that are not known" if NOT_SAID in (*then, *now) else "other weights"
            word = "a weak sign" if signs is weak_signs else not_known
            changes.append(f"served {name}: {_listed(then)} → {_listed(now)} ({word})")
    return changes


def _listed(values: Sequence[str]) -> str:
    return " and ".join(map(shown, values))


def last_canary(stretches: Sequence[Stretch]) -> list[CanaryAnswer]:
    """The answers of the last stretch that asked for them."""
    return next((stretch.canary for stretch in reversed(stretches) if stretch.canary), [])


def canary_spending(stretches: Sequence[Stretch]) -> Spending:
    """What the canaries of all stretches used."""
    spent = Spending()
    for usage in (usage for stretch in stretches for usage in stretch.usage):
        spent.add_usage(usage)
    return spent


def canary_agreement(a: Sequence[CanaryAnswer], b: Sequence[CanaryAnswer]) -> tuple[int, int]:
    """How many answers are the same, and how many prompts both answered."""
    before = {answer.prompt: answer.answer for answer in a if answer.answer is not None}
    pairs = [
        (before[answer.prompt], answer.answer) for answer in b if answer.answer is not None and answer.prompt in before
    ]
    return sum(first == second for first, second in pairs), len(pairs)


def shown(value: str) -> str:
    """A value in a sentence: the beginning of a hash is enough."""
    is_hash = len(value) >= 32 and all(character in "0123456789abcdef" for character in value.removeprefix("sha256:"))
    return f"{value[:HASH_SHOWN]}…" if is_hash else value


def merged(mappings: Iterable[Mapping[str, str]]) -> Signs:
    """All values of each name, as texts that are safe to print."""
    signs: Signs = {}
    for mapping in mappings:
        for name, value in ((one_line(name), one_line(value)) for name, value in mapping.items()):
            if value not in signs.get(name, ()):
                signs[name] = (*signs.get(name, ()), value)
    return signs
