"""The page of a search: one HTML file without anything from elsewhere, readable where it lies."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.costs.spending import is_worth_showing, money
from assay.optimize.results import Result, counts, in_both, proposals_in_words, unseen
from assay.pages.charts.course import ScoredText, search_chart
from assay.pages.charts.figure import figures
from assay.pages.html import page as html
from assay.pages.html.element import Child, Html, filled, raw, tag
from assay.results.search_rows import EvaluationRow, ExampleOutcomes, KeptCandidate
from assay.text.numbers import number

_SHOWN_EXAMPLES = 500
_SHOWN_EVALUATIONS = 50
_WHOLE = 1_000_000
_DEEPEST = 40
"""Levels of the lineage; a browser that is given hundreds draws no more."""
_encode = msgspec.json.Encoder(enc_hook=repr).encode

_Seen = dict[tuple[int, str, int], list[EvaluationRow]]
"""Evaluations by candidate, set and place."""
_Rows = dict[int, list[EvaluationRow]]
"""And by candidate alone."""


def page(result: Result) -> str:
    """The whole page."""
    seen: _Seen = {}
    for row in result.evaluations:
        seen.setdefault((row.candidate, row.part, row.index), []).append(row)
    sections: list[tuple[str, str, Child]] = [
        ("curve", "Score over evaluator calls", curve(result)),
        ("diff", "Best text against the seed", changes(result.seed, result.best)),
        ("examples", "Examples, seed and best side by side", examples(result, seen)),
        *([("front", "Objectives", front(result))] if result.front else []),
        ("lineage", "Lineage", tree(result, _by_candidate(result.evaluations))),
        ("rejected", "Rejected proposals", rejected_table(result)),
        ("best", "Best text", html.text_block(result.best, _WHOLE)),
    ]
    return html.page("assay optimize", head(result), sections)


def head(result: Result) -> Child:
    """The verdict, and the facts a reader should know before believing it."""
    selected = f"{in_both(result.valset)}; {result.valset.verdict}"
    facts: list[tuple[str, Child]] = [
        ("stopped", result.stopped),
        ("proposals", proposals_in_words(result)),
        ("unusable answers", counts(result.unusable)),
        ("evaluator calls", f"{result.calls['used']} used, budget {result.calls['budget']}"),
        ("evaluator failures", counts(result.evaluator_failures)),
        *([(f"… {kind}", message) for kind, message in result.failure_messages.items()]),
        *([("texts that failed", f"{len(result.failed_texts)}")] if result.failed_texts else []),
        (result.selected_on, selected if result.selected_on != "text" else in_both(result.valset)),
        *([(unseen(result), f"{in_both(result.testset)}; {result.testset.verdict}")] if result.testset else []),
        ("evaluator", result.evaluator),
        ("proposer", result.proposer),
        *([("cost", money(result.cost))] if is_worth_showing(result.cost) else []),
        ("engine", result.engine),
        ("fingerprint", result.fingerprint[:16]),
    ]
    return [
        tag("p", result.verdict, class_="verdict"),
        tag("p", result.problem, class_="problem", role="alert") if result.problem else None,
        tag("p", "The seed stays the best text.") if result.best_is_seed else None,
        html.grid(["what", "value"], facts),
    ]


def curve(result: Result) -> Child:
    """The best score so far over the calls, with every text that was scored."""
    kept = [
        ScoredText(calls=item.calls, score=item.mean, name=f"candidate {item.number}")
        for item in result.lineage
        if item.mean is not None
    ]
    if not kept:
        return tag("p", "Nothing was scored.")
    rejected = [
        ScoredText(calls=item.calls, score=item.score, name=f"candidate {item.number}")
        for item in result.rejected
        if item.score is not None
    ]
    unit = result.score_range == "unit"
    return figures([search_chart(kept, rejected, last=result.calls["used"], unit=unit, on=result.selected_on)])


def changes(seed: str, best: str) -> Html:
    """A diff line by line; unchanged stretches are left out."""
    if seed == best:
        return tag("p", "No difference: the best text is the seed.")
    lines = list(difflib.unified_diff(seed.splitlines(), best.splitlines(), lineterm="", n=3))[2:]
    return tag("pre", [_diff_line(line) for line in lines], class_="diff")


def examples(result: Result, seen: _Seen) -> Child:
    """Every example with what was seen under the seed and under the best text, one click away."""
    if not result.examples:
        return tag("p", "None.")
    shown = result.examples[:_SHOWN_EXAMPLES]
    more = len(result.examples) - len(shown)
    changed = sum(example.seed != example.best for example in result.examples)
    return [
        tag("p", f"{changed} of {len(result.examples)} changed."),
        [_example(example, result, seen) for example in shown],
        tag("p", f"… and {more} more, in summary.json") if more > 0 else None,
    ]


_EXAMPLE = (
    '<details class="printed"><summary>%s: %s → <span%s>%s</span></summary><div class="sides">'
    "<div><h4>seed</h4>%s</div><div><h4>best</h4>%s</div>%s</div></details>"
)
_TONES = {tone: raw(f' class="{tone}"' if tone else "") for tone in ("good", "bad", "")}


def _example(each: ExampleOutcomes, result: Result, seen: _Seen) -> Html:
    best, name = result.best_number, _name(each, result)
    tone = "" if each.seed == each.best else "good" if _is_better(each) else "bad"
    before = _outcome(seen.get((0, each.part, each.index), []), each.seed_failure)
    after = _outcome(seen.get((best, each.part, each.index), []), each.best_failure)
    record = None if each.record is None else tag("div", tag("h4", "record"), html.text_block(_as_text(each.record)))
    return filled(_EXAMPLE, name, _score(each.seed), _TONES[tone], _score(each.best), before, after, record)


def _name(each: ExampleOutcomes | EvaluationRow, result: Result) -> str:
    if each.part == "single":
        return "the text"
    return f"{unseen(result) if each.part == 'testset' else each.part} {each.index + 1}"


def _outcome(rows: Sequence[EvaluationRow], failure: str | None) -> Child:
    parts: list[Child] = [tag("p", f"failed: {failure[:1000]}", class_="bad") if failure else None]
    for row in rows:
        took = f"score {_score(row.score)}, {row.seconds:.2g} s" + (f", cost {row.cost:.4g}" if row.cost else "")
        parts.append(tag("p", f"{took}, reused" if row.reused else took, class_="soft"))
        parts.append(html.text_block(row.output) if row.output is not None else None)
        rest = {name: value for name, value in row.side_info.items() if value != row.output}
        parts.append(html.text_block(_as_text(rest)) if rest else None)
    return parts


def front(result: Result) -> Child:
    """Every kept text by every objective."""
    pareto = result.front
    if pareto is None:
        return None
    rows: list[list[Child]] = [
        [
            str(number),
            *(f"{values[name]:.4g}" if name in values else "–" for name in pareto.objectives),
            "on the front" if int(number) in pareto.numbers else "",
            "chosen" if int(number) == result.best_number else "",
        ]
        for number, values in pareto.means.items()
    ]
    heads = [f"{name} (lower is better)" if name in pareto.lower_is_better else name for name in pareto.objectives]
    return [
        html.grid(["candidate", *heads, "front", "choice"], rows, numeric=range(1, len(heads) + 1)),
        tag("p", f"Chosen by {pareto.chosen_by}.", class_="soft"),
    ]


def tree(result: Result, rows: _Rows) -> Html:
    """Every kept text below its parent, with what changed and what it scored; beyond some depth, next to it."""
    depth: dict[int | None, int] = {None: 0}
    below: dict[int, int | None] = {}
    for item in result.lineage:
        beside = depth[item.parent] == _DEEPEST
        below[item.number] = below[item.parent] if beside and item.parent is not None else item.parent
        depth[item.number] = depth[item.parent] + (not beside)
    branches: dict[int | None, list[Html]] = {None: []}
    for candidate in reversed(result.lineage):  # so that the children of each are there before it
        shown = _kept(candidate, result, rows.get(candidate.number, []))
        branch = tag("li", shown, _branches(branches.get(candidate.number)))
        branches.setdefault(below[candidate.number], []).append(branch)
    return _branches(branches[None]) or tag("p", "None.")


def _branches(last_first: list[Html] | None) -> Html | None:
    return tag("ul", last_first[::-1], class_="lineage") if last_first else None


def _by_candidate(evaluations: Sequence[EvaluationRow]) -> _Rows:
    rows: _Rows = {}
    for row in evaluations:
        rows.setdefault(row.candidate, []).append(row)
    return rows


def _kept(each: KeptCandidate, result: Result, rows: Sequence[EvaluationRow]) -> Html:
    name = "seed" if each.number == 0 else f"candidate {each.number}"
    name += f", merged from {each.parent} and {each.merged_with}" if each.merged_with is not None else ""
    mean = "no score" if each.mean is None else number(each.mean, 4)
    failed = f" ({each.failed} failed)" if each.failed else ""
    mark = tag("span", "best", class_="tag good") if each.number == result.best_number else None
    content = [_diff_line(line) for line in each.diff] if each.diff else each.text
    heading = f"{name}: {mean}{failed}, after {each.calls} calls "
    return html.folded([heading, mark], tag("pre", content), _evaluations(rows, result))


def _evaluations(evaluations: Sequence[EvaluationRow], result: Result) -> Child:
    rows: list[list[Child]] = [
        [
            _name(row, result) + (f", repeat {row.repeat}" if row.repeat > 1 else ""),
            _score(row.score),
            row.failure.message[:300] if row.failure else (row.output or _as_text(row.side_info))[:300],
        ]
        for row in evaluations[:_SHOWN_EVALUATIONS]
    ]
    more = len(evaluations) - len(rows)
    left_out = tag("p", f"… and {more} more, in summary.json") if more else None
    return [html.grid(["evaluation", "score", "seen"], rows, numeric=(1,)), left_out] if rows else None


def rejected_table(result: Result) -> Child:
    """What was tried and not kept."""
    if not result.rejected:
        return tag("p", "None.")
    rows: list[list[Child]] = [
        [
            f"{item.number}",
            f"{item.calls}",
            "" if item.parent is None else f"{item.parent}",
            _score(item.parent_score),
            _score(item.score),
            [item.reason, html.folded("text", html.text_block("\n\n".join(item.texts.values()), _WHOLE))],
        ]
        for item in result.rejected[:_SHOWN_EXAMPLES]
    ]
    return html.grid(["candidate", "calls", "parent", "parent's mean", "mean", "why"], rows, numeric=(1, 2, 3, 4))


def _diff_line(line: str) -> Html:
    kind = {"+": "added", "-": "removed", "@": "fold"}.get(line[:1])
    return tag("span", f"{line}\n", class_=kind)


def _is_better(example: ExampleOutcomes) -> bool:
    return example.best is not None and (example.seed is None or example.best > example.seed)


def _score(score: float | None) -> str:
    return "failed" if score is None else f"{score:.4g}"


def _as_text(value: Any) -> str:
    return msgspec.json.format(_encode(value), indent=1).decode()
