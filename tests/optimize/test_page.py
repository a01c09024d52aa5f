"""The page shows what happened and runs nothing of what it shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
from tests.optimize.scripted import AddingProposer, SayingProposer, WordEvaluator, fenced, refused

from assay.optimize.page import page
from assay.optimize.results import Result
from assay.optimize.run import SearchSettings, optimize

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
RECORDS = [{"words": ["clear"], "note": NASTY}, {"words": ["kind"]}, {"words": ["calm", "short"]}]


def searched(folder: Path, proposer: Any = None, **changes: Any) -> Result:
    usual: dict[str, Any] = {"seed": "Be", "dataset": RECORDS, "budget": 60, "target_score": 1.0}
    return optimize(
        SearchSettings(**{**usual, **changes}),
        WordEvaluator(),
        proposer or AddingProposer(),
        folder=folder,
        probe=False,
    )


class Tags(HTMLParser):
    """Every element of a page; void ones and those that end themselves apart, all are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(text)
    assert parser.open == []
    return parser.found


def test_the_page_has_curve_lineage_diff_and_examples(tmp_path: Path) -> None:
    result = searched(tmp_path)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = tags(text)
    widths = 2  # every chart is drawn for a page and for a phone
    signs = [attrs.get("class") for tag, attrs in found if tag == "circle"]
    assert signs.count("m-sign") == widths * len(result.lineage)
    assert signs.count("m-sign hollow") == widths * sum(each.score is not None for each in result.rejected)
    assert sum(tag == "path" and attrs.get("class") == "m-line" for tag, attrs in found) == widths
    assert '<span class="added">+Be' in text
    assert '<span class="removed">-Be\n</span>' in text
    assert text.count("<li>") == len(result.lineage)
    assert 'dataset 1: 0 → <span class="good">1</span>' in text
    (sides,) = re.findall(r"dataset 1: 0 → .*?<h4>seed</h4>(.*?)<h4>best</h4>(.*?)</details>", text, re.DOTALL)
    assert "&quot;missing&quot;: [\n  &quot;clear&quot;" in sides[0], "why the seed failed there, one click away"
    assert "&quot;missing&quot;: []" in sides[1]


def test_nothing_from_texts_records_or_models_becomes_markup(tmp_path: Path) -> None:
    proposer = SayingProposer(fenced(f"clear {NASTY}"), fenced("Be"), refused(message=NASTY))
    result = searched(tmp_path, proposer, seed=f"Be {NASTY}")
    found = tags(page(result))
    assert not {"img", "iframe", "object"} & {tag for tag, _ in found}
    assert [tag for tag, _ in found].count("script") == 1, "that of the charts, which the policy names by its hash"
    assert not any(name.startswith("on") for _, attrs in found for name in attrs)


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    text = page(searched(tmp_path))
    assert "default-src &#x27;none&#x27;" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_a_problem_stands_at_the_top(tmp_path: Path) -> None:
    text = page(searched(tmp_path, SayingProposer(refused())))
    assert '<p class="problem" role="alert">the proposer failed: 403: no key</p>' in text
    assert "No difference: the best text is the seed." in text


def test_scores_of_any_range_fit_the_curve(tmp_path: Path) -> None:
    result = searched(tmp_path)
    lineage = [
        msgspec.structs.replace(each, mean=-1e6 + 10 * each.number if each.number else None) for each in result.lineage
    ]
    for score_range in ("unit", "any"):
        tags(page(msgspec.structs.replace(result, lineage=lineage, score_range=score_range)))
    tags(page(msgspec.structs.replace(result, lineage=[msgspec.structs.replace(lineage[0], mean=None)])))


def test_a_long_line_of_descent_is_shown_and_no_deeper_than_a_browser_draws(tmp_path: Path) -> None:
    result = searched(tmp_path)
    one = result.lineage[-1]
    chain = [msgspec.structs.replace(one, number=n, parent=n - 1 if n else None) for n in range(1500)]
    text = page(msgspec.structs.replace(result, lineage=chain))
    tags(text)
    assert all(f"candidate {number}: " in text for number in (1, 39, 40, 41, 1499))
    assert text.count('<ul class="tree">') < 50
