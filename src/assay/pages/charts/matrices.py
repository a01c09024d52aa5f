"""Models side by side in a grid: every model on every task against a baseline, and every two models."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from assay.pages.charts.chart import Bands, Behind, Chart, Tile
from assay.pages.charts.forest import over_what
from assay.results.standings.against import BaselineCell
from assay.results.standings.pairs import ModelPair
from assay.results.standings.standing_rows import Standings
from assay.text.numbers import equals_p, level_text, number, p_value, percent, signed

MOST = 30
"""More tasks or models than this are not drawn."""


def heatmap_chart(standings: Standings, cells: Sequence[BaselineCell], baseline: str, level: float) -> Chart | None:
    """Every model's score on every task, on a ground that says how far it is from the baseline's."""
    rows = [row for row in standings.models if row.label == baseline] + [
        row for row in standings.models if row.label != baseline
    ]
    if len(rows) < 2 or not standings.tasks or len(rows) > MOST or len(standings.tasks) > MOST:
        return None
    against = {(cell.model, cell.task): cell for cell in cells}
    reach = max((abs(cell.difference) for cell in cells if cell.difference is not None), default=0.0) or 1.0
    marks, table = [], []
    for place, row in enumerate(rows):
        for column, task in enumerate(standings.tasks):
            cell, compared = row.tasks.get(task), against.get((row.label, task))
            score = None if cell is None else cell.score
            difference = None if compared is None else compared.difference
            sure = compared is not None and compared.significant
            sign = "" if not sure or difference is None else " ▲" if difference > 0 else " ▼"
            marks.append(
                Tile(
                    column=column,
                    row=place,
                    text=number(score) + (sign if score is not None else ""),
                    level=0.0 if difference is None else difference / reach,
                    strong=sure,
                    tip=_cell_tip(row.label, task, score, compared, baseline),
                )
            )
            table.append([row.label, task, number(score), signed(difference), _p(compared), "yes" if sure else ""])
    return Chart(
        name="heatmap",
        title=f"Scores{over_what(standings)}, against {baseline}",
        x=Bands(names=list(standings.tasks)),
        y=Bands(names=[row.label for row in rows]),
        marks=marks,
        behind=Behind(
            header=["model", "task", "score", f"against {baseline}", "p (Holm)", "significant"],
            rows=table,
            numeric_from=2,
        ),
        note=(
            f"Blue is better than {baseline}, orange worse. ▲ and ▼: the paired test finds a difference at "
            f"{level_text(level)}, corrected by Holm for all {len(cells):,} comparisons."
        ),
        full_width=len(standings.tasks) > 6,
    )


def wins_chart(standings: Standings) -> Chart | None:
    """For every two models, how often the one in the row did better on the same sample; ties are left out."""
    labels = [row.label for row in standings.models]
    if len(labels) < 2 or not standings.pairs or len(labels) > MOST:
        return None
    known = {(pair.first, pair.second): pair for pair in standings.pairs}
    marks, table = [], []
    for row, model in enumerate(labels):
        for column, opponent in enumerate(labels):
            if model == opponent:
                marks.append(Tile(column=column, row=row, text="", tip=model))
                continue
            pair = known.get((model, opponent)) or _turned(known[opponent, model])
            share = pair.win_share
            sure = pair.significant
            sign = "" if not sure else " ▲" if pair.difference > 0 else " ▼"
            marks.append(
                Tile(
                    column=column,
                    row=row,
                    text=percent(share) + (sign if share is not None else ""),
                    level=0.0 if share is None else 2.0 * share - 1.0,
                    strong=sure,
                    tip=f"{model} against {opponent}: better on {pair.wins:,}, worse on {pair.losses:,}, "
                    f"the same on {pair.ties:,} samples; {equals_p(pair.adjusted_p)}",
                )
            )
            table.append([model, opponent, f"{pair.wins:,}", f"{pair.losses:,}", f"{pair.ties:,}", number(share)])
            table[-1] += [signed(pair.difference), p_value(pair.adjusted_p)]
    return Chart(
        name="wins",
        title="Who wins against whom",
        x=Bands(names=labels),
        y=Bands(names=labels),
        marks=marks,
        behind=Behind(
            header=["model", "against", "better", "worse", "same", "share won", "difference", "p (Holm)"],
            rows=table,
            numeric_from=2,
        ),
        note=(
            "The share of samples, in %, that the model in the row wins, of those on which the two differ. ▲ and ▼ "
            "mark pairs whose difference is significant."
        ),
        full_width=len(labels) > 8,
    )


def _turned(pair: ModelPair) -> ModelPair:
    others = {"first": pair.second, "second": pair.first, "wins": pair.losses, "losses": pair.wins}
    return replace(pair, **others, difference=-pair.difference)


def _cell_tip(label: str, task: str, score: float | None, compared: BaselineCell | None, baseline: str) -> str:
    tip = f"{label} on {task}: {number(score)}"
    if compared is None or compared.difference is None:
        return tip
    over = f"over {compared.pairs:,} pairs, {equals_p(compared.adjusted_p)}"
    return f"{tip}\n{signed(compared.difference)} against {baseline} {over}"


def _p(cell: BaselineCell | None) -> str:
    return p_value(None if cell is None else cell.adjusted_p)
