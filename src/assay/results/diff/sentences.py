"""The conclusion of a comparison, in sentences that a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.results.diff.differences import BoardDiff, OverallDiff, TaskDiff
from assay.stats.drops import DropTest
from assay.stats.families import CORRECTED_BY
from assay.stats.intervals import Interval
from assay.stats.margins import Sameness
from assay.stats.paired import PairedComparison
from assay.stats.paired_evidence import GuardedPairs
from assay.text.numbers import equals_p, error_text, level_text, number, signed


def repeats_name(key: str, *models: Mapping[str, Any]) -> bool:
    """Whether an option of these models only repeats their names: `model: gpt-4` of `openai:gpt-4`."""
    return key in ("model", "object") and all(str(model.get(key) or "") in str(model.get("name")) for model in models)


UNCHANGED = "unchanged: the attempts of one are those of the other, so there is nothing to test"


def task_verdict(task: TaskDiff, board: BoardDiff) -> str:
    """One task in a sentence or two."""
    return f"{_task_verdict(task, board)}{'' if task.same is None else f'; {same_sentence(task.same)}'}"


def same_sentence(same: Sameness) -> str:
    """Whether A and B are the same within the margin."""
    corrected = f", {equals_p(same.adjusted_p)} after Holm over {same.comparisons}" if same.comparisons > 1 else ""
    word = "the same within" if same.same else "not shown to be the same within"
    return f"{word} {same.margin:g}{_between(same.interval)}{corrected}"


def _task_verdict(task: TaskDiff, board: BoardDiff) -> str:
    if task.content in ONE_SIDED:
        return f"{task.content}: nothing to compare"
    if task.comparison is None:
        return "only the scores are known, so whether they differ by more than chance is unknown"
    if not task.comparison.n:
        unknown = f"{task.untested or NO_NUMBERS}, so whether the scores differ by more than chance is unknown"
        return unknown if task.compared else "no sample was scored in both"
    if task.flips == 0 and task.comparison.difference == 0.0:
        changed = task.changes.answer if task.changes is not None else 0
        verdict = f"no difference in scores; {changed:,} answers read differently" if changed else "no difference"
        verdict = UNCHANGED if task.unchanged else verdict
        others = _list([each.name for each in task.other_numbers])
        return f"{verdict}; other numbers changed: {others}" if others else verdict
    moved = f"{_moved(task.comparison)} over {task.comparison.n:,} pairs"
    if task.lower_is_better:
        moved = f"{moved} (negated, as lower is better)"
    if task.significant:
        word = "better" if (task.comparison.difference or 0.0) > 0 else "worse"
        return f"B is {word}: {moved}{_test(task, board)}"
    tested = f"{_test(task, board)}{_tested_for_a_drop(task, board)}"
    return f"no significant difference: {moved}{tested}; {_could_not_find(task.comparison)}"


def _tested_for_a_drop(compared: TaskDiff | OverallDiff, board: BoardDiff) -> str:
    """What the test of a drop, which has one side, finds where that of a difference finds nothing."""
    if compared.significant or compared.drop is None or not compared.drop.significant:
        return ""
    return f"; tested for a drop alone, as gates do, B is worse: {_one_sided(compared.drop, board)}"


def board_verdict(board: BoardDiff) -> str:
    """The whole comparison in a sentence, and whether it is one of answers that both share."""
    return with_shared_answers(f"{_verdict(board)}{_same_parts(board)}", board)


def with_shared_answers(verdict: str, board: BoardDiff) -> str:
    """The verdict, and whether it is one of answers that both have from the cache."""
    if not board.shared_answers:
        return verdict
    pairs = [task.changes for task in board.tasks if task.changes is not None]
    total = sum(pair.same + pair.answer + pair.prompt + pair.targets + pair.score_only for pair in pairs)
    if board.shared_answers < total:
        return f"{verdict}; {board.shared_answers:,} of {total:,} answers are the same ones, from the cache"
    whose = "B's answers are A's" if not board.cached_a else "A's answers are B's" if not board.cached_b else None
    shared = f"{whose or 'A and B have the same answers'}, from the cache: one measurement, not two"
    return shared if verdict.startswith("no difference:") else f"{verdict}; {shared}"


def _same_parts(board: BoardDiff) -> str:
    """On which tasks A and B are the same within the margin asked about."""
    claims = {task.task: task.same for task in board.tasks if task.same is not None}
    if board.overall is not None and board.overall.same is not None:
        claims["overall"] = board.overall.same
    same = [name for name, each in claims.items() if each.same]
    if not claims:
        return ""
    margin = next(iter(claims.values())).margin
    if not same:
        return f"; not shown to be the same within {margin:g}{' anywhere' if len(claims) > 1 else ''}"
    where = "" if len(claims) == 1 else " everywhere" if len(same) == len(claims) else f" on {_list(same)} only"
    return f"; the same within {margin:g}{where}"


def _verdict(board: BoardDiff) -> str:
    if (nothing := _nothing_found(board)) is not None:
        return nothing
    parts = _found(board)
    if board.overall is not None and board.overall.significant:
        parts.append(f"overall B is {_word(board.overall.difference)}: {_moved(board.overall)}")
    found = "; ".join(parts) or "no significant difference"
    dropped = _dropped_alone(board)
    alone = f"; tested for a drop alone, as gates do, B is worse on {_list(dropped)}" if dropped else ""
    return f"{found} ({level_text(board.level)} level, {corrections(board)}){alone}"


def verdict_without_numbers(board: BoardDiff) -> str:
    """The same where a table below has the numbers."""
    if (nothing := _nothing_found(board)) is not None:
        return with_shared_answers(f"{nothing}{_same_parts(board)}", board)
    parts = _found(board)
    if board.overall is not None:
        is_found = board.overall.significant
        parts.append(f"overall {f'B is {_word(board.overall.difference)}' if is_found else 'could be chance'}")
    dropped = _dropped_alone(board)
    parts += [f"tested for a drop alone, as gates do, B is worse on {_list(dropped)}"] if dropped else []
    found = any(task.significant for task in board.tasks) or (board.overall is not None and board.overall.significant)
    verdict = "; ".join(parts) if found or dropped else "no significant difference"
    return with_shared_answers(f"{verdict}{_same_parts(board)}", board)


def _nothing_found(board: BoardDiff) -> str | None:
    """The verdict where nothing was tested, or nothing differs."""
    compared = _tested(board)
    if board.same_result and any(task.score_a is not None for task in board.tasks):
        return "no difference: the same questions, settings, answers and scores"
    if not compared:
        return "nothing could be compared sample by sample"
    if any(task.flips for task in compared):
        return None
    others = [f"{each.name} of {task.task}" for task in compared for each in task.other_numbers]
    if others:
        return f"no difference in the scores of the tasks; other numbers changed: {_list(others)}"
    return "no difference: every sample that both have was scored the same"


def _tested(board: BoardDiff) -> list[TaskDiff]:
    return [task for task in board.tasks if task.comparison is not None and task.comparison.n]


def _found(board: BoardDiff) -> list[str]:
    """The tasks on which B is shown to be worse, and to be better."""
    worse = [task.task for task in _tested(board) if task.significant and _difference(task) < 0]
    better = [task.task for task in _tested(board) if task.significant and _difference(task) > 0]
    return [
        *([f"B is worse on {_list(worse)}"] if worse else []),
        *([f"B is better on {_list(better)}"] if better else []),
    ]


def _word(difference: float) -> str:
    return "better" if difference > 0 else "worse"


def _dropped_alone(board: BoardDiff) -> list[str]:
    dropped = [task.task for task in _tested(board) if _tested_for_a_drop(task, board)]
    return dropped + (["overall"] if board.overall is not None and _tested_for_a_drop(board.overall, board) else [])


def drop_sentences(board: BoardDiff) -> list[str]:
    sentences = [
        f"{task.task} dropped significantly: {signed(task.comparison.difference or 0.0)}"
        f"{_below_zero(task.comparison.interval)} over {task.comparison.n:,} pairs, {_one_sided(task.drop, board)}"
        for task in board.tasks
        if task.comparison is not None and task.drop is not None and task.drop.significant
    ]
    overall = board.overall
    if overall is not None and overall.drop is not None and overall.drop.significant:
        dropped = f"{signed(overall.difference)}{_below_zero(overall.interval)}"
        sentences.append(f"overall dropped significantly: {dropped}, {_one_sided(overall.drop, board)}")
    return sentences


def blind_sentences(board: BoardDiff) -> list[str]:
    """One sentence per comparison whose test could not find even the loss of everything."""
    drops = [(task.task, task.drop) for task in board.tasks]
    drops += [("overall", board.overall.drop if board.overall is not None else None)]
    return [
        f"{name}: not even the loss of every answer would be significant "
        f"({equals_p(drop.attainable)} at best{_over(board)})"
        for name, drop in drops
        if drop is not None and not drop.can_tell
    ]


def _one_sided(drop: DropTest, board: BoardDiff) -> str:
    adjusted = f" ({equals_p(drop.adjusted_p)}{_over(board)})" if board.comparisons > 1 else ""
    return f"one-sided {equals_p(drop.p_value)}{adjusted}"


def _over(board: BoardDiff) -> str:
    return f" after Holm over {board.comparisons}" if board.comparisons > 1 else ""


NO_NUMBERS = "its samples have no number of their own"
ONE_SIDED = ("only in A", "only in B")


def unequal_sentence(task: TaskDiff) -> str | None:
    """Why a part of the task cannot be compared; None when all of it can."""
    if task.content in ONE_SIDED:
        return f"task `{task.task}` is {task.content}"
    parts = [f"{count:,} scored only in {side}" for count, side in ((task.only_a, "A"), (task.only_b, "B")) if count]
    parts += [f"{task.other_targets:,} with other targets"] if task.other_targets else []
    if parts:
        return f"{task.task}: {' and '.join(parts)}, {task.compared:,} in both"
    return f"{task.task}: {KEY_UNKNOWN}" if task.key_unknown else None


def hidden_sentence(task: TaskDiff) -> str | None:
    """What the task has in A (the baseline) but not in B, which could hide a drop."""
    if task.content == "only in B":
        return None
    if task.content == "only in A":
        return f"task `{task.task}` of the baseline is missing from the result"
    if task.comparison is None:
        return f"{task.task} has no per-example records"
    parts = [f"{task.only_a:,} that the baseline has are missing from the result"] if task.only_a else []
    parts += [f"{task.other_targets:,} have other targets than in the baseline"] if task.other_targets else []
    if parts:
        return f"of the samples of {task.task} {' and '.join(parts)}, and {task.compared:,} could be compared"
    if not task.comparison.n:
        return (
            f"{task.task}: {task.untested or NO_NUMBERS}"
            if task.compared
            else f"no sample of {task.task} was scored in both"
        )
    return f"{task.task}: {KEY_UNKNOWN}" if task.key_unknown else None


def other_samples_sentence(task: TaskDiff) -> str | None:
    """Why the task's score in B does not compare with that in A: they are of other samples, or of another key."""
    if task.content in ONE_SIDED:
        return f"task `{task.task}` is only in the {'baseline' if task.content == 'only in A' else 'result'}"
    parts = [f"{task.only_a:,} are only in the baseline"] if task.only_a else []
    parts += [f"{task.only_b:,} are only in the result"] if task.only_b else []
    parts += [f"{task.other_targets:,} have other targets than in the baseline"] if task.other_targets else []
    if parts:
        return f"of the samples of {task.task} {' and '.join(parts)}"
    unseen = task.comparison is None and task.content == "changed"
    return f"{task.task}: {KEY_UNKNOWN}" if task.key_unknown or unseen else None


KEY_UNKNOWN = "its content changed, and whether what counts as right is still the same cannot be seen"


def _moved(comparison: PairedComparison | OverallDiff) -> str:
    return f"{signed(comparison.difference or 0.0)}{_between(comparison.interval)}"


def _between(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f" ({level_text(interval.level)} interval {signed(interval.low)} to {signed(interval.high)})"


def _below_zero(interval: Interval) -> str:
    """The interval of a drop, where it excludes 0 too: it has two sides, and the test of a drop has one."""
    return _between(interval) if interval.high is not None and interval.high < 0.0 else ""


def _test(task: TaskDiff, board: BoardDiff) -> str:
    comparison = task.comparison
    if comparison is None or comparison.p_value is None or comparison.evidence is None:
        return ""
    adjusted = (
        f" ({equals_p(task.adjusted_p)} after {CORRECTED_BY[board.correction]} over {board.comparisons})"
        if board.comparisons > 1 and task.adjusted_p is not None
        else ""
    )
    return f", {comparison.evidence.method} {equals_p(comparison.p_value)}{adjusted}"


def _could_not_find(comparison: PairedComparison) -> str:
    """What this many pairs can and cannot detect."""
    least = comparison.minimum_detectable_effect
    difference = abs(comparison.difference or 0.0)
    chance = _no_chance(comparison)
    pairs, units = f"{comparison.n:,} pairs", "pairs"
    if comparison.clusters is not None:
        pairs, units = f"{pairs} in {comparison.clusters:,} groups", "groups"
    if least is None:
        return f"{chance}no difference, however large, is significant with {pairs} like these"
    power = f"{level_text(comparison.power)} power"
    sentence = f"{pairs} detect a true difference of {number(least)} with {power}{_model(comparison, least)}"
    if comparison.needed is not None:
        sentence += f"; detecting one of {number(difference)} takes about {comparison.needed:,} {units}"
    return f"{chance}{sentence}"


def _model(comparison: PairedComparison, least: float) -> str:
    """Which model of the truth that is, and what the other one gives."""
    within = comparison.detectable_within
    if isinstance(comparison.evidence, GuardedPairs):
        return " (changes spread as those seen, to both sides alike)"
    if within is None or number(within) == number(least):
        return ""
    return f" if it comes on top of the rarer changes, {number(within)} if no more answers differ than did"


def _no_chance(comparison: PairedComparison) -> str:
    """What is left to say where the answers changed beyond chance and another mean is not shown."""
    evidence = comparison.evidence
    if comparison.p_of_changes is None or not isinstance(evidence, GuardedPairs) or not comparison.difference:
        return ""
    kind = "cluster" if comparison.clusters is not None else "sample"
    excluded = evidence.excluded_in(comparison.interval.level)
    return (
        f"the changes are not chance (sign flips: {equals_p(comparison.p_of_changes)}), but another mean is not shown: "
        f"one total change to the contrary in {evidence.undone_in:,.0f} {kind}s would undo it, and "
        f"{evidence.spread.units:,} {kind}s cannot exclude one in {excluded:,.0f}; "
    )


def _difference(task: TaskDiff) -> float:
    return 0.0 if task.comparison is None else task.comparison.difference or 0.0


def corrections(board: BoardDiff) -> str:
    """How many comparisons there are, and how their p-values are corrected for that."""
    if board.comparisons == 1:
        return "one comparison"
    of_what = (
        ""
        if board.correction == "holm"
        else f", at most {error_text(board.level)} of those found are expected to be false"
    )
    return f"{board.comparisons} comparisons, corrected by {CORRECTED_BY[board.correction]}{of_what}"


def _list(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
