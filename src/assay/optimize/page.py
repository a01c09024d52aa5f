"""The page of a search: one HTML file without scripts or anything from elsewhere, readable where it lies.

Texts, records and messages come from models and strangers: each is escaped, and what cannot be seen is shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from html import escape

from assay.optimize.results import Candidate, Comparison, Example, Result
from assay.printable import printable

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 760, 280, 52, 34, 14
_SHOWN_EXAMPLES = 500

_Place = Callable[[int, float], tuple[float, float]]


def page(result: Result) -> str:
    """The whole page."""
    sections = [
        ("Score over evaluator calls", curve(result)),
        ("Best text against the seed", side_by_side(result.seed, result.best)),
        ("Lineage", tree(result.lineage, best=_best_number(result))),
        ("Examples that changed", examples_table(result.examples)),
        ("Rejected proposals", rejected_table(result)),
        ("Best text", f"<pre class=text>{escape(result.best)}</pre>"),
    ]
    body = "\n".join(f"<section><h2>{escape(title)}</h2>{content}</section>" for title, content in sections)
    return printable(
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>assay optimize</title><style>{_STYLE}</style></head>"
        f"<body><main>{head(result)}{body}</main></body></html>\n"
    )


def head(result: Result) -> str:
    """The verdict, and the facts a reader should know before believing it."""
    decided = result.testset or result.valset
    where = "testset" if result.testset else f"{result.selected_on}, which the search selected on"
    made = result.proposals
    facts = [
        ("stopped", result.stopped),
        ("proposals", f"{made['made']} made, {made['accepted']} accepted, {made['rejected']} rejected"),
        ("unusable answers", _counts(result.unusable)),
        ("evaluator calls", f"{result.calls['used']} used, {result.calls['asked']} asked for"),
        ("evaluator failures", _counts(result.evaluator_failures)),
        (result.selected_on, _means(result.valset)),
        *([("testset", _means(result.testset))] if result.testset else []),
        ("evaluator", result.evaluator),
        ("proposer", result.proposer),
        ("fingerprint", result.fingerprint[:16]),
    ]
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in facts)
    problem = f"<p class=problem role=alert>{escape(result.problem)}</p>" if result.problem else ""
    kept = "<p>The seed stays the best text.</p>" if result.best_is_seed else ""
    return (
        f"<h1>{escape(decided.verdict)}</h1><p class=where>on the {escape(where)}</p>{problem}{kept}"
        f"<table class=facts>{rows}</table>"
    )


def curve(result: Result) -> str:
    """The best so far as a line, kept texts as dots, rejected ones as crosses at their minibatch mean."""
    kept = [(each.calls, each.mean) for each in result.lineage if each.mean is not None]
    rejected = [(each.calls, each.score) for each in result.rejected if each.score is not None]
    if not kept:
        return "<p>Nothing was scored.</p>"
    scores = [score for _, score in (*kept, *rejected)]
    low, high = (0.0, 1.0) if result.score_range == "unit" else (min(scores), max(scores))
    high = high if high > low else low + 1.0
    last = max(1, result.calls["used"])

    def at(calls: int, score: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - 12) * calls / last
        return round(x, 1), round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - score) / (high - low), 1)

    parts = [*_axes(low, high, last)]
    parts += [_cross(*at(*point)) for point in rejected]
    parts.append(f"<path class=best d='{_steps(kept, last, at)}'/>")
    for each in result.lineage:
        if each.mean is not None:
            x, y = at(each.calls, each.mean)
            title = f"candidate {each.number}: {each.mean:.4f} after {each.calls} calls"
            parts.append(f"<circle cx={x} cy={y} r=4><title>{escape(title)}</title></circle>")
    return (
        f"<svg class=curve viewBox='0 0 {_WIDTH} {_HEIGHT}' role=img aria-label='score over evaluator calls'>"
        f"{''.join(parts)}</svg>"
        f"<p class=legend>line: best on the {escape(result.selected_on)} so far · dots: accepted · "
        "crosses: rejected (mean of a minibatch)</p>"
    )


def side_by_side(seed: str, best: str) -> str:
    """A line by line diff; unchanged stretches are folded."""
    if seed == best:
        return "<p>No difference: the best text is the seed.</p>"
    rows = []
    changed = difflib.unified_diff(seed.splitlines(), best.splitlines(), lineterm="", n=3)
    for line in list(changed)[2:]:  # without the two lines that name the files
        if line.startswith("@@"):
            rows.append(f"<tr class=fold><td></td><td>{escape(line)}</td></tr>")
            continue
        kind = {"+": "added", "-": "removed"}.get(line[:1], "same")
        rows.append(f"<tr class={kind}><td>{escape(line[:1])}</td><td>{escape(line[1:])}</td></tr>")
    return f"<table class=diff>{''.join(rows)}</table>"


def tree(lineage: Sequence[Candidate], *, best: int) -> str:
    """Every kept text below its parent, with what changed."""
    children: dict[int | None, list[Candidate]] = {}
    for each in lineage:
        children.setdefault(each.parent, []).append(each)

    def branch(parent: int | None) -> Iterator[str]:
        if parent not in children:
            return
        yield "<ul>"
        for each in children[parent]:
            mean = "no score" if each.mean is None else f"{each.mean:.4f}"
            failed = f", {each.failed} failed" if each.failed else ""
            name = "seed" if each.number == 0 else f"candidate {each.number}"
            mark = " <b class=mark>best</b>" if each.number == best else ""
            changed = "\n".join(each.diff) if each.diff else each.text
            yield (
                f"<li><details><summary>{name}: {mean}{failed}, after {each.calls} calls{mark}</summary>"
                f"<pre class=text>{escape(changed)}</pre></details>"
            )
            yield from branch(each.number)
            yield "</li>"
        yield "</ul>"

    return f"<div class=tree>{''.join(branch(None))}</div>"


def examples_table(examples: Sequence[Example]) -> str:
    """Every example whose score or failure changed, the largest losses first."""
    changed = [each for each in examples if (each.seed, each.seed_failure) != (each.best, each.best_failure)]
    if not changed:
        return "<p>No example changed.</p>"
    changed.sort(key=lambda each: (each.best if each.best is not None else -1e308) - (each.seed or 0.0))
    rows = []
    for each in changed[:_SHOWN_EXAMPLES]:
        record = "" if each.record is None else json.dumps(each.record, ensure_ascii=False)
        rows.append(
            f"<tr class={_direction(each)}><td>{escape(each.part)} {each.index + 1}</td>"
            f"<td>{_score(each.seed, each.seed_failure)}</td><td>{_score(each.best, each.best_failure)}</td>"
            f"<td>{escape(record[:1000])}</td></tr>"
        )
    more = len(changed) - _SHOWN_EXAMPLES
    note = f"<p>… and {more} more, in summary.json</p>" if more > 0 else ""
    heads = "<tr><th>example</th><th>seed</th><th>best</th><th>record</th></tr>"
    return f"<p>{len(changed)} of {len(examples)}</p><table class=examples>{heads}{''.join(rows)}</table>{note}"


def rejected_table(result: Result) -> str:
    """What was tried and not kept."""
    if not result.rejected:
        return "<p>None.</p>"
    rows = "".join(
        f"<tr><td>{each.calls}</td><td>{'' if each.parent is None else each.parent}</td>"
        f"<td>{_score(each.parent_score, None)}</td><td>{_score(each.score, None)}</td>"
        f"<td>{escape(each.reason)}"
        f"<details><summary>text</summary><pre class=text>{escape(each.text)}</pre></details></td></tr>"
        for each in result.rejected[:_SHOWN_EXAMPLES]
    )
    heads = "<tr><th>calls</th><th>parent</th><th>parent's mean</th><th>mean</th><th>why</th></tr>"
    return f"<table class=examples>{heads}{rows}</table>"


def _axes(low: float, high: float, last: int) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    for step in range(5):
        score = low + (high - low) * step / 4
        y = round(_TOP + (bottom - _TOP) * (1 - step / 4), 1)
        yield f"<line class=grid x1={_LEFT} y1={y} x2={_WIDTH - 12} y2={y} />"
        yield f"<text x={_LEFT - 8} y={y + 4} text-anchor=end>{score:.3g}</text>"
    for step in range(5):
        x = round(_LEFT + (_WIDTH - _LEFT - 12) * step / 4, 1)
        yield f"<text x={x} y={bottom + 20} text-anchor=middle>{round(last * step / 4)}</text>"


def _steps(kept: Sequence[tuple[int, float]], last: int, place: _Place) -> str:
    calls, best = kept[0]
    x, y = place(calls, best)
    said = [f"M{x} {y}"]
    for calls, score in kept[1:]:
        said.append(f"H{place(calls, best)[0]}")
        best = max(best, score)
        said.append(f"V{place(calls, best)[1]}")
    said.append(f"H{place(last, best)[0]}")
    return " ".join(said)


def _cross(x: float, y: float) -> str:
    return f"<path class=cross d='M{x - 3} {y - 3}L{x + 3} {y + 3}M{x - 3} {y + 3}L{x + 3} {y - 3}'/>"


def _best_number(result: Result) -> int:
    return next((each.number for each in result.lineage if each.text == result.best), 0)


def _direction(example: Example) -> str:
    if example.best is None:
        return "worse"
    if example.seed is None or example.best > example.seed:
        return "better"
    return "worse"


def _score(score: float | None, failure: str | None) -> str:
    if score is not None:
        return f"{score:.4g}"
    return f"failed<br><small>{escape((failure or '')[:300])}</small>"


def _means(comparison: Comparison) -> str:
    seed, best = comparison.seed, comparison.best
    said = [
        f"{name} {'no score' if each.mean is None else f'{each.mean:.4f}'}"
        + (f" ({each.failed} failed)" if each.failed else "")
        for name, each in (("seed", seed), ("best", best))
    ]
    return f"{said[0]}, {said[1]}; {comparison.better} better, {comparison.worse} worse of {comparison.pairs}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in counts.items()) or "none"


_STYLE = """
:root{color-scheme:light dark;--line:#8884;--good:#1a7f37;--bad:#b42318;--accent:#3b5bdb}
body{font:15px/1.5 system-ui,sans-serif;margin:0}main{max-width:60rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}.where{margin:.2rem 0 1rem;opacity:.75}
.problem{border-left:4px solid var(--bad);padding:.5rem 1rem;background:#b4231818;font-weight:600}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;
border-bottom:1px solid var(--line);overflow-wrap:anywhere}.facts th{width:11rem;font-weight:500;opacity:.75}
.curve{width:100%;height:auto}.curve text{font-size:11px;fill:currentColor;opacity:.75}.grid{stroke:var(--line)}
.best{fill:none;stroke:var(--accent);stroke-width:2}.curve circle{fill:var(--accent)}
.cross{stroke:var(--bad);opacity:.6;fill:none}.legend{font-size:.85rem;opacity:.75}
.diff td{font-family:ui-monospace,monospace;white-space:pre-wrap;border:0;padding:0 .5rem}
.diff td:first-child{width:1rem}.added{background:#1a7f3722}.removed{background:#b4231822}.fold{opacity:.6}
pre.text{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--line);padding:.75rem;margin:.25rem 0}
.tree ul{list-style:none;padding-left:1.2rem;border-left:1px solid var(--line)}.mark{color:var(--good)}
.examples th{white-space:nowrap}
.examples tr.better td:nth-child(3){color:var(--good)}.examples tr.worse td:nth-child(3){color:var(--bad)}
summary{cursor:pointer}
"""
