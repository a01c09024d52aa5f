"""What a paper needs of one run or several: the table of scores, and a paragraph on how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.pages.document import Block, Cell, Heading, Sentence, Span, TextTable
from assay.pages.documents.leaderboard import interval_header
from assay.pages.documents.standings import metrics_in_words, shared_alone
from assay.results.board.board_types import Leaderboard
from assay.results.standings.standing_rows import ModelRow, Standings
from assay.text.numbers import MISSING, interval, level_text, number
from assay.text.wording import count_of, few

MOST_MODELS = 4
"""Models that get a column each; more are rows."""
_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning_effort")


def paper_document(boards: Sequence[Leaderboard], standings: Standings) -> list[Block]:
    """The table and the paragraph; what is not shared comes first in it."""
    table = _by_model(standings) if len(standings.models) > MOST_MODELS else _by_task(standings)
    return [table, Heading(2, "Methods"), Sentence(" ".join(methods(boards, standings)))]


def _by_task(standings: Standings) -> TextTable:
    """Tasks in rows, models in columns; the best of each row is strong."""
    models = standings.models
    rows: list[list[Cell]] = [
        [task, *_scores([row.tasks[task].score if task in row.tasks else None for row in models], _ends(models, task))]
        for task in standings.tasks
    ]
    if len(standings.tasks) > 1:
        ends = [row.interval for row in models]
        rows.append(["overall", *_scores([row.overall for row in models], [interval(each) for each in ends])])
    if len(models) > 1:
        rows.append(["rank", *(row.rank for row in models)])
    header = ["task", *(row.label for row in models)]
    return TextTable(header=header, rows=rows, numeric_from=1)


def _ends(models: Sequence[ModelRow], task: str) -> list[str]:
    return [interval(row.tasks[task].interval) if task in row.tasks else "" for row in models]


def _scores(scores: Sequence[float | None], ends: Sequence[str]) -> list[Cell]:
    """Scores with their intervals; no one is set off as best, which ranks say with their uncertainty."""
    pairs = zip(scores, ends, strict=True)
    return [f"{number(score)} ({end})" if end.strip(MISSING) else number(score) for score, end in pairs]


def _by_model(standings: Standings) -> TextTable:
    rows: list[list[Cell]] = [
        [row.rank, Span(row.label), number(row.overall), interval(row.interval)] for row in standings.models
    ]
    return TextTable(header=["rank", "model", "overall", interval_header(standings.level)], rows=rows, numeric_from=2)


def methods(boards: Sequence[Leaderboard], standings: Standings) -> list[str]:
    """How the numbers were made, in sentences for a paper, each from what the runs recorded."""
    first = boards[0]
    asked = sum(row.total for row in first.tasks)
    repeat = int(first.settings.get("repeat") or 1)
    each = f", each attempted {repeat} times" if repeat > 1 else ""
    labels = [board.model_label for board in boards]
    several = len(standings.tasks) > 1
    version = first.versions.get("assay-eval", "unknown")
    sentences = [
        f"{few(labels, 20)} {'was' if len(labels) == 1 else 'were'} evaluated with assay {version} on "
        f"{count_of(len(standings.tasks), 'task')} ({few(standings.tasks, 20)}; "
        f"{count_of(asked // repeat, 'question')}{each}).",
        *_settings(boards),
        f"Scores are {metrics_in_words(standings.metrics)}{'; overall is the mean over tasks' * several}.",
        f"Intervals are at {level_text(standings.level)} ({few(_interval_methods(boards), 9)}).",
    ]
    if len(standings.models) > 1:
        how = [part for part in standings.ranking.split("; ") if not part.startswith("z-scores")]
        sentences.append(f"Ranks are by {'; '.join(how)}.")
    sentences += _failures(boards)
    if standings.unequal:
        shared = shared_alone(standings).removeprefix("! ").partition(";")[0]
        sentences.append(f"{shared[0].upper()}{shared[1:]}.")
    return [*sentences, _runs(boards)]


def _settings(boards: Sequence[Leaderboard]) -> list[str]:
    """How answers were sampled: once where it is the same for all."""
    told = {board.model_label: _sampling(board.settings) for board in boards}
    if len(set(told.values())) == 1:
        return [f"Answers were generated with {next(iter(told.values()))}."]
    return [f"Answers of {label} were generated with {text}." for label, text in told.items()]


def _sampling(settings: Mapping[str, Any]) -> str:
    generation = settings.get("generation") or {}
    given = [f"{name} {generation[name]}" for name in _SETTINGS if generation.get(name) is not None]
    return ", ".join(given) or "the settings of the tasks and the defaults of the model"


def _interval_methods(boards: Sequence[Leaderboard]) -> list[str]:
    ends = [row.interval for board in boards for row in board.tasks] + [board.overall_interval for board in boards]
    return list(dict.fromkeys(each.method.partition("|")[0] for each in ends if each is not None))


def _failures(boards: Sequence[Leaderboard]) -> list[str]:
    failed = {board.model_label: board.failed + board.timeouts for board in boards}
    if not any(failed.values()):
        return ["No attempt failed."]
    listed = few([f"{count:,} of {label}" for label, count in failed.items() if count], 20)
    return [f"Failed attempts are no scores and were left out: {listed}."]


def _runs(boards: Sequence[Leaderboard]) -> str:
    made = ", ".join(f"{board.run_fingerprint[:12]} ({board.created[:10]})" for board in boards)
    return f"Fingerprints of the runs: {made}."
