"""The tables that stand below a leaderboard when there is something to say: slices, repetitions, tokens, …."""

from __future__ import annotations

from assay.core.types import Summary
from assay.reports.board import Leaderboard, SliceRow, TaskRow
from assay.reports.diff_words import equals
from assay.reports.markdown import aggregates_table, escaped, interval, leaderboard_table, number, table
from assay.reports.slices import NO_VALUE
from assay.reports.spending import money

REPETITIONS = ("mean", "pass@{k}", "pass^{k}", "majority@{k}", "worst@{k}", "consistency")


def board_tables(board: Leaderboard) -> str:
    """The leaderboard and every further table that has rows."""
    parts = [
        leaderboard_table(board),
        aggregates_table(board),
        outcome_table(board),
        repetition_table(board),
        slice_table(board),
        calibration_table(board),
        likelihood_table(board),
        token_table(board),
        judge_table(board),
    ]
    return "\n\n".join(part for part in parts if part)


def outcome_table(board: Leaderboard) -> str | None:
    """How model-written code ended, for tasks where not all of it passed."""
    ran = [row for row in board.tasks if set(row.outcomes) - {"pass"}]
    if not ran:
        return None
    words = ["pass", *sorted({word for row in ran for word in row.outcomes} - {"pass"})]
    rows = [[escaped(row.task), *(f"{row.outcomes.get(word, 0):,}" for word in words)] for row in ran]
    return table(["code of", *words], rows, numeric_from=1)


def slice_table(board: Leaderboard) -> str | None:
    """One row per task and slice; weak ones are marked."""
    told = {each.by for row in board.tasks for each in row.slices if each.value != NO_VALUE}
    rows = [_slice(row, each) for row in board.tasks for each in row.slices if each.by in told]
    if not rows:
        return None
    header = ["task", "slice", "score", f"{board.level * 100:g} % interval", "scored", "failed", "rest", ""]
    return table(header, rows, numeric_from=2)


def repetition_table(board: Leaderboard) -> str | None:
    """What several attempts at each sample say, for as many attempts as were made."""
    repeated = [row for row in board.tasks if row.repetitions]
    if not repeated:
        return None
    k = attempts_of(repeated[0])
    names = [name.format(k=k) for name in REPETITIONS]
    rows = [[escaped(row.task), *(_cell(row.repetitions, name) for name in names)] for row in repeated]
    return table(["task", *names], rows, numeric_from=1)


def calibration_table(board: Leaderboard) -> str | None:
    rows = [
        [
            escaped(row.task),
            f"{row.calibration.answers:,}",
            summary_text(row.calibration.expected_error),
            if_calibrated_text(row.calibration.expected_error),
            summary_text(row.calibration.brier),
        ]
        for row in board.tasks
        if row.calibration is not None
    ]
    header = ["task", "answers", "expected calibration error", IF_CALIBRATED, "Brier score"]
    return table(header, rows, numeric_from=1) if rows else None


def if_calibrated_text(error: Summary) -> str:
    """The error that chance alone brings about, and whether it explains the one that was found."""
    details = error.details or {}
    if "if_calibrated" not in details:
        return "–"
    return f"{details['if_calibrated']:.3f} ({equals(details['p_value'])})"


def likelihood_table(board: Leaderboard) -> str | None:
    rows = [
        [
            escaped(row.task),
            f"{row.likelihood.texts:,}",
            "–" if row.likelihood.tokens is None else f"{row.likelihood.tokens:,}",
            f"{row.likelihood.bytes:,}",
            summary_text(row.likelihood.perplexity),
            summary_text(row.likelihood.bits_per_byte),
        ]
        for row in board.tasks
        if row.likelihood is not None
    ]
    header = ["task", "texts", "tokens", "bytes", "perplexity per token", "bits per byte"]
    return table(header, rows, numeric_from=1) if rows else None


def token_table(board: Leaderboard) -> str | None:
    """Tokens and money per task and for the run, when the model counts tokens."""
    if not any(row.tokens_in or row.tokens_out or row.judges for row in board.tasks):
        return None
    rows = [_tokens(escaped(row.task), row) for row in board.tasks]
    sums = [sum(getattr(row, name) for row in board.tasks) for name in TOKENS]
    rows.append(["**run**", *(f"{value:,}" for value in sums), money(board.cost), money(board.judge_cost)])
    return table(["task", *TOKEN_COLUMNS], rows, numeric_from=1)


def judge_table(board: Leaderboard) -> str | None:
    """What every judge was asked and cost, at its own price."""
    rows = [
        [
            escaped(row.task),
            escaped(judge.model),
            *(f"{value:,}" for value in (judge.answers, judge.cached, judge.tokens_in, judge.tokens_out)),
            money(judge.cost),
        ]
        for row in board.tasks
        for judge in row.judges
    ]
    return table(["task", *JUDGE_COLUMNS], rows, numeric_from=2) if rows else None


IF_CALIBRATED = "if calibrated"
TOKENS = ("tokens_in", "tokens_out", "cached", "judge_tokens_in", "judge_tokens_out")
TOKEN_COLUMNS = ("tokens in", "tokens out", "from cache", "judges in", "judges out", "cost", "judges' cost")
JUDGE_COLUMNS = ("judge", "answers", "from cache", "tokens in", "tokens out", "cost")


def summary_text(summary: Summary | None) -> str:
    """A number with its interval in one cell."""
    if summary is None or summary.value is None:
        return "–"
    if summary.low is None or summary.high is None:
        return f"{summary.value:z.3f}"
    return f"{summary.value:z.3f} ({summary.low:z.3f} – {summary.high:z.3f})"


def _slice(row: TaskRow, each: SliceRow) -> list[str]:
    return [
        escaped(row.task),
        escaped(f"{each.by} = {each.value}"),
        number(each.score),
        interval(each.interval),
        f"{each.scored:,}",
        f"{each.failed:,}",
        number(each.rest),
        "weak" if each.weak else "",
    ]


def _tokens(name: str, row: TaskRow) -> list[str]:
    return [name, *(f"{getattr(row, each):,}" for each in TOKENS), money(row.cost), money(row.judge_cost)]


def attempts_of(row: TaskRow) -> int:
    """The largest k that the row has numbers for."""
    return max(int(each.name.removeprefix("pass@")) for each in row.repetitions if each.name.startswith("pass@"))


def _cell(summaries: list[Summary], name: str) -> str:
    found = next((each for each in summaries if each.name == name), None)
    return summary_text(found) if found is None else f"{summary_text(found)}{left_out_text(found)}"


def left_out_text(summary: Summary) -> str:
    """Over how many samples a number is, and its bounds, where failed attempts left some out."""
    if not summary.unscored and summary.bounds is None:
        return ""
    over = f" over {summary.scored:,} of {summary.scored + summary.unscored:,} samples"
    if summary.bounds is None:
        return over
    return f"{over}, {summary.bounds.low:z.3f} – {summary.bounds.high:z.3f} with the failed"
