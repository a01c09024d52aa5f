"""The tables below a leaderboard, where they have rows: slices, repetitions, tokens, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.core.types import Summary
from assay.costs.spending import is_worth_showing, money
from assay.pages.document import Block, Cell, Sentence, Span, TextTable
from assay.pages.documents.leaderboard import aggregates_table, interval_header, leaderboard_table, scope
from assay.results.board.board_types import Leaderboard, SliceRow, TaskRow, VarianceRow
from assay.results.board.slices import shown_slices
from assay.results.board.stretches import canary_spending
from assay.text.numbers import MISSING, equals_p, interval, number, percent

REPETITIONS = ("mean", "pass@{k}", "pass^{k}", "majority@{k}", "worst@{k}", "consistency")


def board_tables(board: Leaderboard) -> list[TextTable]:
    """The leaderboard and every further table that has rows."""
    parts = [leaderboard_table(board), aggregates_table(board), *tables_besides(board)]
    return [part for part in (*parts, token_table(board), judge_table(board)) if part is not None]


def tables_besides(board: Leaderboard) -> list[TextTable]:
    """What is neither a task's numbers nor what they cost."""
    parts = [
        group_table(board),
        outcome_table(board),
        repetition_table(board),
        variance_table(board),
        slice_table(board),
        calibration_table(board),
        likelihood_table(board),
    ]
    return [part for part in parts if part is not None]


def board_document(board: Leaderboard) -> list[Block]:
    """The tables, and below the first what its numbers are of."""
    first, *others = board_tables(board)
    return [first, Sentence(scope(board)), *others]


def side_by_side(
    named: Sequence[tuple[str, Leaderboard]], table_of: Callable[[Leaderboard], TextTable | None]
) -> TextTable | None:
    """One table of several boards, their labels first where there are more than one."""
    tables = [(label, table) for label, board in named if (table := table_of(board)) is not None]
    if len(named) == 1 or not tables:
        return tables[0][1] if tables else None
    first = tables[0][1]
    header = list(dict.fromkeys(name for _, table in tables for name in table.header))
    rows: list[list[Cell]] = []
    for label, table in tables:
        for row in table.rows:
            cells = dict(zip(table.header, row, strict=True))
            rows.append([label, *(cells.get(name, MISSING) for name in header)])
    return replace(first, header=["model", *header], rows=rows, numeric_from=first.numeric_from + 1)


def group_table(board: Leaderboard) -> TextTable | None:
    rows: list[list[Cell]] = [
        [
            row.group,
            row.metric,
            number(row.score),
            interval(row.interval),
            f"{len(row.tasks):,}",
            "samples" if row.weight_by_size else "tasks alike",
        ]
        for row in board.groups
    ]
    header = ["group", "metric", "score", interval_header(board.level), "tasks", "mean over"]
    return TextTable(header=header, rows=rows, numeric_from=2) if rows else None


def outcome_table(board: Leaderboard) -> TextTable | None:
    """How model-written code ended, for tasks where not all of it passed."""
    rows_of_code = [row for row in board.tasks if set(row.outcomes) - {"pass"}]
    if not rows_of_code:
        return None
    outcomes = ["pass", *sorted({outcome for row in rows_of_code for outcome in row.outcomes} - {"pass"})]
    rows = [[row.task, *(f"{row.outcomes.get(outcome, 0):,}" for outcome in outcomes)] for row in rows_of_code]
    return TextTable(header=["code of", *outcomes], rows=rows, numeric_from=1)


def slice_table(board: Leaderboard) -> TextTable | None:
    """One row per task and slice; weak ones are marked."""
    rows = [_slice(row, each) for row in board.tasks for each in shown_slices(row.slices)]
    if not rows:
        return None
    header = ["task", "slice", "score", interval_header(board.level), "scored", "failed", "rest", ""]
    return TextTable(header=header, rows=rows, numeric_from=2, drops=("rest", "failed", "scored"))


def repetition_table(board: Leaderboard) -> TextTable | None:
    """The statistics of repeated attempts, for the largest k."""
    repeated = [row for row in board.tasks if row.repetitions]
    if not repeated:
        return None
    k = attempts_of(repeated[0])
    names = [name.format(k=k) for name in REPETITIONS]
    rows: list[list[Cell]] = []
    for row in repeated:
        summaries = {repetition.name: repetition for repetition in row.repetitions}
        rows.append([row.task, *(summary_cell(summaries.get(name)) for name in names)])
    return TextTable(header=["task", *names], rows=rows, numeric_from=1, drops=[*names[:2:-1], names[0]])


def variance_table(board: Leaderboard) -> TextTable | None:
    """One bar for each task: how much of the standard error comes from where, and what half of a part takes."""
    known = [(row.task, row.variance) for row in board.tasks if row.variance is not None and row.variance.parts]
    rows: list[list[Cell]] = [
        [task, number(each.standard_error), _bar(each), _parts(each), _to_halve(each)] for task, each in known
    ]
    header = ["task", "standard error", "", "parts", "to halve one"]
    return TextTable(header=header, rows=rows, numeric_from=len(header), drops=("",)) if rows else None


def calibration_table(board: Leaderboard) -> TextTable | None:
    rows: list[list[Cell]] = [
        [
            row.task,
            f"{row.calibration.answers:,}",
            summary_cell(row.calibration.expected_error),
            if_calibrated_text(row.calibration.expected_error),
            summary_cell(row.calibration.brier),
        ]
        for row in board.tasks
        if row.calibration is not None
    ]
    header = ["task", "answers", "expected calibration error", IF_CALIBRATED, "Brier score"]
    drops = ("answers", "Brier score")
    return TextTable(header=header, rows=rows, numeric_from=1, drops=drops) if rows else None


def if_calibrated_text(error: Summary) -> str:
    """The error expected by chance alone, and whether it explains the measured one."""
    details = error.details or {}
    if "if_calibrated" not in details:
        return "–"
    return f"{number(details['if_calibrated'])} ({equals_p(details['p_value'])})"


def likelihood_table(board: Leaderboard) -> TextTable | None:
    rows: list[list[Cell]] = [
        [
            row.task,
            f"{row.likelihood.texts:,}",
            "–" if row.likelihood.tokens is None else f"{row.likelihood.tokens:,}",
            f"{row.likelihood.bytes:,}",
            summary_cell(row.likelihood.perplexity),
            summary_cell(row.likelihood.bits_per_byte),
        ]
        for row in board.tasks
        if row.likelihood is not None
    ]
    header = ["task", "texts", "tokens", "bytes", "perplexity per token", "bits per byte"]
    drops = ("bytes", "texts", "tokens")
    return TextTable(header=header, rows=rows, numeric_from=1, drops=drops) if rows else None


def token_table(board: Leaderboard) -> TextTable | None:
    """Tokens and money per task and for the run, when the model counts tokens."""
    if not any(row.tokens_in or row.tokens_out or row.judges for row in board.tasks):
        return None
    rows: list[list[Cell]] = [
        [row.task, *(f"{getattr(row, token):,}" for token in TOKENS), money(row.cost), money(row.judge_cost)]
        for row in board.tasks
    ]
    sums = [sum(getattr(row, name) for row in board.tasks) for name in TOKENS]
    canary = canary_spending(board.stretches)
    if canary.answers:
        used = [canary.tokens_in, canary.tokens_out, canary.cached, 0, 0]
        rows.append(["canary", *(f"{value:,}" for value in used), money(board.canary_cost), money(None)])
        sums = [total + value for total, value in zip(sums, used, strict=True)]
    total = Span("run", "strong")
    rows.append([total, *(f"{value:,}" for value in sums), money(board.cost), money(board.judge_cost)])
    header = ["task", *TOKEN_COLUMNS]
    left_out = {"cost"} if not is_worth_showing(board.cost) else set()
    left_out |= {"judges' cost"} if not is_worth_showing(board.judge_cost) else set()
    left_out |= {"judges in", "judges out"} if not any(row.judges for row in board.tasks) else set()
    shown = [column for column, name in enumerate(header) if name not in left_out]
    return TextTable(
        header=[header[column] for column in shown],
        rows=[[cells[column] for column in shown] for cells in rows],
        numeric_from=1,
        drops=("from cache", "judges in", "judges out"),
    )


def judge_table(board: Leaderboard) -> TextTable | None:
    """The usage and cost of every judge, at its own price."""
    priced = any(is_worth_showing(judge.cost) for row in board.tasks for judge in row.judges)
    rows = [
        [
            row.task,
            judge.model,
            *(f"{value:,}" for value in (judge.answers, judge.cached, judge.tokens_in, judge.tokens_out)),
            *([money(judge.cost)] if priced else []),
        ]
        for row in board.tasks
        for judge in row.judges
    ]
    header = ["task", *JUDGE_COLUMNS, *(["cost"] if priced else [])]
    drops = ("from cache", "tokens in", "tokens out")
    return TextTable(header=header, rows=rows, numeric_from=2, drops=drops) if rows else None


IF_CALIBRATED = "if calibrated"
TOKENS = ("tokens_in", "tokens_out", "cached", "judge_tokens_in", "judge_tokens_out")
TOKEN_COLUMNS = ("tokens in", "tokens out", "from cache", "judges in", "judges out", "cost", "judges' cost")
JUDGE_COLUMNS = ("judge", "answers", "from cache", "tokens in", "tokens out")


def summary_text(summary: Summary | None) -> str:
    """A number with its interval in one cell."""
    if summary is None or summary.low is None or summary.high is None:
        return number(None if summary is None else summary.value)
    return f"{number(summary.value)} ({interval(summary)})"


_BAR = 20
_FILLS = "█░▒"


def _bar(row: VarianceRow) -> str:
    ends = [round(_BAR * sum(part.share for part in row.parts[: place + 1])) for place in range(len(row.parts))]
    return "".join(fill * (end - start) for fill, start, end in zip(_FILLS, [0, *ends], ends, strict=False))


def _parts(row: VarianceRow) -> Span:
    shares = [f"{part.part} {percent(part.share)}" for part in row.parts]
    return Span(", ".join(shares), shorter=(" / ".join(shares),))


def _to_halve(row: VarianceRow) -> str:
    part = row.parts[0]
    return f"{part.requests:,} requests" if part.cost is None else money(part.cost)


def _slice(row: TaskRow, each: SliceRow) -> list[Cell]:
    return [
        row.task,
        f"{each.by} = {each.value}",
        Span(number(each.score), "key"),
        Span(interval(each.interval), "quiet"),
        f"{each.scored:,}",
        Span(f"{each.failed:,}", "bad") if each.failed else "0",
        number(each.rest),
        Span("weak", "bad") if each.weak else "",
    ]


def attempts_of(row: TaskRow) -> int:
    """The largest k that the row has numbers for."""
    return max(
        int(repetition.name.removeprefix("pass@"))
        for repetition in row.repetitions
        if repetition.name.startswith("pass@")
    )


def summary_cell(summary: Summary | None) -> Span:
    """A number with its interval and what was left out of it, or with less where the table is too wide."""
    if summary is None or summary.value is None:
        return Span("–")
    text = summary_text(summary)
    return Span(f"{text}{left_out_text(summary)}", shorter=(text, number(summary.value)))


def left_out_text(summary: Summary) -> str:
    """The samples that a number is over, and its bounds, where failed attempts left some out."""
    certain = summary.bounds is None or summary.bounds.low == summary.bounds.high
    if not summary.unscored and certain:
        return ""
    over = f" over {summary.scored:,} of {summary.scored + summary.unscored:,} samples"
    if summary.bounds is None:
        return over
    return f"{over}, {interval(summary.bounds)} with the failed"
