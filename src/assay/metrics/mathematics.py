"""Answers to problems in mathematics: extracted from a worked solution, and compared however they are typeset."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from assay.metrics.algebra import same_value
from assay.metrics.extraction import extract_stated_answer, own_answer

LONGEST_ANSWER = 2000
"""An answer of more characters is compared to the letter only: no target is as long."""
_BOX = re.compile(r"\\(?:boxed|fbox)\s*+")
_BRACE = re.compile(r"[{}]")
_ANSWER = re.compile(r"(?i)\banswer\b")


def extract_math_answer(text: str) -> str:
    """What a worked solution ends with: in the last `\\boxed{…}`, else after "answer is", else between dollar signs.

    A text of one line without any of these is taken as it is. Misleads when a solution boxes its steps, or announces
    its answer in words.
    Example: extract_math_answer("So $x=\\\\boxed{\\\\frac{1}{2}}$.") == "\\\\frac{1}{2}"
    Reference: Hendrycks et al. 2021, the evaluation script of MATH (`last_boxed_only_string`).
    """
    text = own_answer(text)
    if boxed := _last_box(text):
        return boxed
    if _ANSWER.search(text):
        return _between_dollars(extract_stated_answer(text).removesuffix(". I hope it is correct").strip())
    formula = _between_dollars(text)
    return formula if formula != text or "\n" not in text.strip() else ""


def _last_box(text: str) -> str:
    """The content of the last box whose braces close; of a box without braces, what precedes the dollar sign."""
    end = len(text)
    for _ in range(20):  # a text may end in any number of boxes that never close
        start = max(text.rfind("\\boxed", 0, end), text.rfind("\\fbox", 0, end))
        if start < 0:
            return ""
        opening = _BOX.match(text, start)
        if opening and text.startswith("{", opening.end()):
            if content := _closed(text, opening.end(), end):
                return content
        elif opening and text[opening.end() - 1].isspace():
            return re.split(r"[$\n]", text[opening.end() : end], maxsplit=1)[0].strip()
        end = start
    return ""


def _closed(text: str, start: int, end: int) -> str:
    depth = 0
    for brace in _BRACE.finditer(text, start, end):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start + 1 : brace.start()].strip()
    return ""


def _between_dollars(text: str) -> str:
    first, last = text.find("$"), text.rfind("$")
    return text[first + 1 : last].strip(" $") if 0 <= first < last else text


def math_equivalent(prediction: str, targets: Sequence[str], extras: Mapping[str, Any]) -> float:
    """1.0 when the answer is a target however it is typeset: fractions, roots, units, spaces, commas, tuples.

    First by the normalisation of MATH's own script; then numbers by value (0.25 and 1/4, 1,000 and 1000), expressions
    with at most two letters by their values at a few points (x+1 and 1+x), item by item in tuples and intervals, and
    words whatever their case, and sets in any order. A fraction that is not reduced, or a sum, a power or a root for a
    whole number, is another answer; so is 50 % for 0.5. Powers of ten (2.5 \\times 10^4) are numbers, and so are words
    up to twelve and periods (0.\\overline{3}). Matrices are compared entry by entry, and inequalities from either side.
    Misleads where equal answers stay unevaluated (2^{10}, 5!, \\binom{5}{2}) or are of another kind: a list in another
    order, an inequality for an interval, an equation in another form, 3:4 for a fraction, "no solution" for the empty
    set. None of these counts as equal.
    Example: math_equivalent("\\\\dfrac12", ["\\\\frac{1}{2}"], {}) == 1.0
    Reference: Hendrycks et al. 2021 (`math_equivalence.py`); Lightman et al. 2023, the grader of PRM800K.
    """
    return float(any(_same(_typeset(prediction.strip()), _typeset(target.strip())) for target in targets))


def _same(answer: str, target: str) -> bool:
    if answer == target:
        return answer != ""
    if not answer or max(len(answer), len(target)) > LONGEST_ANSWER:
        return False
    normalized = normalized_math(answer), normalized_math(target)
    if normalized[0] and normalized[0] == normalized[1]:
        return True
    for parts in (_matrix, _inequality):
        mine, theirs = parts(answer), parts(target)
        if mine and theirs and mine[0] == theirs[0] and all(map(_same, mine[1], theirs[1])):
            return True
    if (sets := (_set_items(normalized[0]), _set_items(normalized[1]))) != ([], []):
        return sets[0] == sets[1]
    return _same_items(_spelled(answer), _spelled(target), _same_item) or _same_items(*normalized, _same_expression)


_MIXED = re.compile(r"(?<![\d./\\^_}])(\d{1,40}) +(\d{1,40})/(\d{1,40})(?![\d/])")
_SIGNS = str.maketrans(
    {
        "−": "-",
        "×": "\\times ",
        "·": "\\cdot ",
        "°": "^\\circ ",
        "π": "\\pi ",
        "∞": "\\infty ",
        "≤": "\\leq ",
        "≥": "\\geq ",
        "≠": "\\neq ",
        "∪": "\\cup ",
        "∅": "\\emptyset ",
        "√": "\\sqrt ",
    }
)
_NAMES = (
    (re.compile(r"\A\\\((.*)\\\)\Z", re.DOTALL), r"\1"),
    (re.compile(r"\\le(?:qslant)?(?![a-zA-Z])"), r"\\leq"),
    (re.compile(r"\\ge(?:qslant)?(?![a-zA-Z])"), r"\\geq"),
    (re.compile(r"\\ne(?![a-zA-Z])"), r"\\neq"),
    (re.compile(r"\\varnothing(?![a-zA-Z])"), r"\\emptyset"),
    (re.compile(r"\A[a-zA-Z] *\\in *(?=[(\[\\])"), ""),
    (re.compile(r"(?<=\d)(?:\{,\}|\\,)(?=\d{3}(?!\d))"), ","),
    (re.compile(r"(?<=[^.])\.\Z"), ""),
)
"""Spellings of the same: names of relations, what an answer is in, thousands, a full stop."""


def _typeset(text: str) -> str:
    if len(text) > LONGEST_ANSWER:
        return text
    text = text.translate(_SIGNS).strip()
    for spelling, replacement in _NAMES:
        text = spelling.sub(replacement, text)
    # without its space 3 1/2 would be 31/2
    return _MIXED.sub(lambda match: f"{int(match[1]) * int(match[3]) + int(match[2])}/{match[3]}", text)


_MATRIX = re.compile(r"\\begin\{([pb])matrix\}(.*)\\end\{\1matrix\}", re.DOTALL)
_RELATION = re.compile(r"\s*(<|>|\\[lg]eq(?![a-zA-Z]))\s*")
_TURNED = {">": "<", "\\geq": "\\leq"}


def _matrix(text: str) -> tuple[Sequence[int], list[str]] | None:
    """How many entries each row has, and all of them; round and square brackets are one matrix, bars are a number."""
    if (found := _MATRIX.fullmatch(text)) is None or "\\begin" in found[2]:
        return None
    rows = [row.split("&") for row in re.split(r"\\\\", found[2].strip().removesuffix("\\\\"))]
    return [len(row) for row in rows], [entry.strip() for row in rows for entry in row]


def _inequality(text: str) -> tuple[Sequence[str], list[str]] | None:
    """The relations and what stands between them, the smallest first; None where they point to both sides."""
    sides = _RELATION.split(text)
    relations, terms = sides[1::2], sides[::2]
    if not relations or not all(terms) or len({relation in _TURNED for relation in relations}) > 1:
        return None
    if relations[0] in _TURNED:
        return [_TURNED[relation] for relation in relations[::-1]], terms[::-1]
    return relations, terms


def _same_items(answer: str, target: str, same: Callable[[str, str], bool]) -> bool:
    """The answer, or each item of a tuple or interval with the same brackets around it."""
    if not answer or not target:
        return False
    items, target_items = _items(answer), _items(target)
    same_brackets = len(target_items) == 1 or (answer[0], answer[-1]) == (target[0], target[-1])
    return same_brackets and len(items) == len(target_items) and all(map(same, items, target_items))


def _same_expression(answer: str, target: str) -> bool:
    """By value; a whole number, and a fraction of whole numbers, must be written as such."""
    if answer == target:
        return True
    kinds = [(bool(re.fullmatch(r"-?\d+", text)), bool(_FRACTION.fullmatch(text))) for text in (answer, target)]
    return kinds[0] == kinds[1] == (False, False) and same_value(answer, target)


def _same_item(answer: str, target: str) -> bool:
    if answer == target:
        return True
    numbers = _number(answer), _number(target)
    if None in numbers or ("/" in answer and "/" in target):  # both fractions: one of them is not reduced
        return False
    # a whole number is written as one
    return numbers[0] == numbers[1] and (numbers[1].denominator != 1 or "/" not in answer + target)  # type: ignore[union-attr]


_TENS = re.compile(r"(?:([+-]?\d{1,40}(?:\.\d{1,40})?)(?:\\times|\\cdot|\*))?(-?)10\^(-?\d{1,2})")
_PERIOD = re.compile(r"(-?)(\d{0,20})\.(\d{0,20})\\overline(\d{1,20})")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _number(text: str) -> Fraction | None:
    if text in _WORDS:
        return Fraction(_WORDS.index(text))
    if (tens := _TENS.fullmatch(text)) and not (tens[1] and tens[2]):
        return Fraction(tens[1] or f"{tens[2]}1") * Fraction(10) ** int(tens[3])
    if period := _PERIOD.fullmatch(text):
        shown, all_digits = int((period[2] + period[3]) or 0), int(period[2] + period[3] + period[4])
        value = Fraction(all_digits - shown, (10 ** len(period[4]) - 1) * 10 ** len(period[3]))
        return -value if period[1] else value
    match = re.fullmatch(r"([+-]?\d{1,40}(?:\.\d{1,40})?|[+-]?\.\d{1,40})(?:/(\d{1,40}))?", text)
    if not match or (match[2] and (int(match[2]) == 0 or "." in match[1])):
        return None
    return Fraction(match[1]) / int(match[2] or 1)


def normalized_math(text: str) -> str:
    """One spelling per answer, by the rules of MATH's evaluation script.

    Example: normalized_math("x = \\\\sqrt3") == "\\\\sqrt{3}"
    """
    if whole := re.fullmatch(r"\\text\{([^{}]+)\}", text.strip()):
        text = whole[1].strip()
    for mark in ("\n", "\\!"):
        text = text.replace(mark, "")
    text = text.replace("\\\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")
    for mark in ("\\left", "\\right", "^{\\circ}", "^\\circ", "\\$"):
        text = text.replace(mark, "")
    if text.count("\\text{ ") == 1:  # a unit on the right
        text = text.partition("\\text{ ")[0]
    text = text.replace("\\%", "").replace(" .", " 0.").replace("{.", "{0.")
    text = f"0{text}" if text.startswith(".") else text
    name, equals, value = text.partition("=")
    if equals and "=" not in value and len(name) <= 2:
        text = value
    text = re.sub(r"\\sqrt *([^{\[\s])", r"\\sqrt{\1}", text).replace(" ", "")
    text = re.sub(r"\\frac([^{\\])(?:([^{])|(?=\{))", _braced, text)
    text = "\\frac{1}{2}" if text == "0.5" else text
    return re.sub(r"\A(-?(?:0|[1-9]\d*))/(-?(?:0|[1-9]\d*))\Z", r"\\frac{\1}{\2}", text)


def _braced(match: re.Match[str]) -> str:
    return f"\\frac{{{match[1]}}}" + (f"{{{match[2]}}}" if match[2] else "")


_UNITS = re.compile(
    r"(?:degree|dollar|unit|cm|centimeter|meter|mile|second|minute|hour|day|week|month|year|foot|feet|inch|yard)"
    r"(?:es)?s? *(?:\^\d+)?"
)
_WORD_COMMANDS = re.compile(r"\\(?:text|mathrm|mbox|textbf|mathbf)\b")
_FRACTION = re.compile(r"(-?)(\d*) *\\[dt]?frac\{(-?\d+)\}\{(\d+)\}")


def _spelled(text: str) -> str:
    """A second, looser normalisation: lowercase words, no units, no thousands separators, fractions as a/b."""
    text = _WORD_COMMANDS.sub("", text.replace("\\!", "").replace("\\left", "").replace("\\right", ""))
    text = text.replace("\\$", "").replace("\\%", "").replace("$", "").replace("%", "")
    text = re.sub(r" (?:or|and) ", " , ", _UNITS.sub("", text)).replace("^\\circ", "").replace("^{\\circ}", "")
    text = re.sub(r"\\[dt]?frac *(\d) *(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    text = _FRACTION.sub(_improper, text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return re.sub(r"[\s{}]", "", text).lower()


def _improper(match: re.Match[str]) -> str:
    """7\\frac{3}{4} is a mixed number."""
    top, bottom = int(match[3]), int(match[4])
    return f"{match[1]}{int(match[2] or 0) * bottom + top}/{bottom}"


def _set_items(text: str) -> list[str]:
    """The elements of a set of single things, in one order; none where it is no such set."""
    inside = text.removeprefix("\\{").removesuffix("\\}")
    return sorted(inside.split(",")) if len(inside) == len(text) - 4 and not re.search(r"[(){}\[\]]", inside) else []


def _items(text: str) -> list[str]:
    inside = text[1:-1]
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and not re.search(r"[()\[\]]", inside):
        return inside.split(",")
    return [text]
