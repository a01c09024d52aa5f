"""Extracts the answer from a text that explains itself: the final number, the letter, the program. Pure functions.

Each looks for the clearest sign first (a box, an announcement) and uses less clear ones only where there is none;
"" means that nothing could be extracted, which the leaderboard counts.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from assay.metrics.post_process import extract_code_block, extract_first_line

# A pattern here begins with what it looks for, and looks back for what must come before it: so a search can skip what
# cannot begin a match. Repetitions are possessive where backtracking could not help. Both keep the time linear, even in
# a megabyte of line breaks or of "The answer is".
_NUMBER = re.compile(r"(?<![\w.])[-−+]?\s?(?:[$€£]\s?)?[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_DIGITS = re.compile(r"[\d.](?<![\w.].)(?:(?<=\d)[\d,]*+(?:\.\d++)?|(?<=\.)\d++)")
"""The part of every number from its first digit or point on."""
_LONGEST_SIGN = 5
_DIGIT, _NO_DIGITS = re.compile(r"\d"), re.compile(r"[^\d,.]")
_HASHES = re.compile(r"####\s*([^\n]*)")
_BOXED = re.compile(r"\\boxed\s*+\{((?:[^{}]++|\{[^{}]*+\})*)\}")
_ANNOUNCEMENT = re.compile(r"[aA](?i:nswer)\b(?<=\b\w{6})")
_ITS_END = re.compile(r"[iIıİ:=\n\d](?:(?<=[:=\n\d])|(?<=\b.)(?i:s)\b)")
"""What an announcement ends with, or what may not stand between: a line break, a digit."""
_LONGEST_ANNOUNCEMENT = 60
_BLANKS = re.compile(r"\s*+")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")


_NEXT_QUESTION = re.compile(r"Q(?<=\sQ)(?:uestion)?\s*+:")


def own_answer(text: str) -> str:
    """The text up to where a model that only continues invents the next question of a list and answers that too.

    Example: own_answer("It is 7.\\n\\nQuestion: And 2 + 2?\\nAnswer: 4") == "It is 7."
    """
    line = 0
    while line >= 0 and (begin := _NEXT_QUESTION.search(text, line)):
        before = text[line : begin.start()]
        if "\n" in before[len(before.rstrip()) :] and (own := text[: begin.start()].rstrip()):
            return own
        line = text.find("\n", begin.end())
    return text


def extract_final_number(text: str) -> str:
    """The number a worked answer ends with, without commas, currency and idle zeros; "" when there is none.

    Signs, clearest first: after `####`, in `\\boxed{…}`, after "answer is" or "answer:", in bold, the last number.
    A line that begins with "Q:" or "Question:" ends the answer.
    Misleads when the answer is followed by a check or a remark with another number in it, and nothing announces it.
    Example: extract_final_number("So 6 × 7 = 42 apples.") == "42"
    """
    text = own_answer(text)
    if not _DIGIT.search(text):
        return ""
    for signs in (_HASHES.findall(text), _BOXED.findall(text)):
        if signs:
            return _last_number(signs[-1]) or _last_number(text)
    if number := _announced_number(text):
        return number
    for bold in reversed(_BOLD.findall(text)):
        if number := _last_number(bold):
            return number
    return _last_number(text)


def _announced_number(text: str) -> str:
    """The number after the last "answer is" that has one in its line: of "3 + 4 = 7 apples" and "7 in 2 bags" the 7.

    Goes from the last announcement to the first; each searches only the text that the later ones have not searched.
    """
    later, has_equals = len(text), False
    for end in reversed([*_announcements(text)]):
        begin = _BLANKS.match(text, end).end()  # type: ignore[union-attr]  # it always matches
        line_end = text.find("\n", begin, later)
        if line_end >= 0:
            has_equals = False
        line = text[begin : later if line_end < 0 else line_end]
        after_equals = "" if has_equals else line.rpartition("=")[2]
        if number := _first_number(after_equals) or _first_number(line):
            return number
        later, has_equals = begin, has_equals or "=" in line
    return ""


def _announcements(text: str) -> Iterator[int]:
    """Where each "answer … is", "answer … :" or "answer … =" ends, with no digit and no line break inside."""
    for announcement in _ANNOUNCEMENT.finditer(text):
        begin = announcement.end()
        end = _ITS_END.search(text, begin, begin + _LONGEST_ANNOUNCEMENT + 3)
        if end and end.start() - begin <= _LONGEST_ANNOUNCEMENT and end[0][0] in "iIıİ:=":
            yield end.end()


def _first_number(text: str) -> str:
    digits = _DIGITS.search(text)
    return plain_number(_with_sign(text, digits)) if digits else ""


def _last_number(text: str) -> str:
    if not _DIGITS.search(text):
        return ""
    near_the_end = _NO_DIGITS.search(text, max(0, len(text) - 2000))  # beginning there cuts no number in two
    last = deque(_DIGITS.finditer(text, near_the_end.start() if near_the_end else 0), maxlen=1)
    last = last or deque(_DIGITS.finditer(text), maxlen=1)
    return plain_number(_with_sign(text, last[0]))


def _with_sign(text: str, digits: re.Match[str]) -> str:
    """The number with its sign and currency, which come before the digits, perhaps with blanks between."""
    *_, number = _NUMBER.finditer(text, max(0, digits.start() - _LONGEST_SIGN), digits.end())
    return number[0]


def plain_number(text: str) -> str:
    """One spelling per number: "1,200.50" is "1200.5", "$ 7.00" is "7", "−3" is "-3".

    Example: plain_number("1,234.00") == "1234"
    """
    bare = "".join(text.split()).replace("−", "-")
    for mark in ",$€£%+":
        bare = bare.replace(mark, "")
    sign, digits = ("-", bare[1:]) if bare.startswith("-") else ("", bare)
    whole, point, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    number = f"{whole}.{fraction}" if point and fraction else whole
    return number if number == "0" else sign + number


CHOICES = "ABCDE"
TEN_CHOICES = "ABCDEFGHIJ"

# "A" and "a" are also an article: followed by another word than these, they choose nothing
_NOT_ARTICLE = (
    r"(?!['’-]?\w)(?!\s++(?!(?:is|was|because|since|as|and|for|with|would|seems|looks|must|fits|but)\b)[a-z])"
)
_WRAP = r"[\s*_\"'`(\[{$]*+"
_ANNOUNCES = (
    r"[aocspgAOCSPGſ](?<!\w.)"
    r"(?i:(?<=a)nswer|(?<=o)ption|(?<=c)ho(?:ice|ose)|(?<=s)(?:olution|elect)|(?<=p)ick|(?<=g)o with)\b"
    r"(?:\s++(?i:is|would be|should be|must be|to this question is))?\s*+[:=-]?"
)


def extract_choice(text: str) -> str:
    """The letter A to E that a text settles on, however it says so; "" when there is none.

    Signs, clearest first: `\\boxed{B}`, "the answer is (B)", a text that begins with the letter, a letter in bold, the
    last letter that stands alone. A letter after "not" chooses nothing.
    Misleads when options are weighed and none is announced: "B, or perhaps C" begins with B and is read as B.
    Example: extract_choice("**B** because Paris is in France") == "B"
    """
    return final_letter(text, CHOICES)


def extract_choice_of_ten(text: str) -> str:
    """The letter A to J that a text settles on; "" when there is none. As `extract_choice`, for up to ten choices.

    Misleads where "I" stands alone as a word and nothing is announced: the last such letter is taken.
    Example: extract_choice_of_ten("Step by step … so the answer is (H).") == "H"
    """
    return final_letter(text, TEN_CHOICES)


def final_letter(text: str, letters: str) -> str:
    """`extract_choice` among these capital letters."""
    signs = _signs_of(letters)
    for sign in (signs.boxed, signs.announced):
        if matches := sign.findall(text):
            return str(matches[-1]).upper()
    if first := signs.first.match(text) or signs.only.fullmatch(text):
        return first[1].upper()
    near_the_end = max(0, len(text) - 2000)  # the last letter there is the last of all
    matches = signs.bold.findall(text) or signs.alone.findall(text, near_the_end) or signs.alone.findall(text)
    return str(matches[-1]) if matches else ""


class _Signs(NamedTuple):
    """How a letter is chosen, each with the letter as its one group."""

    boxed: re.Pattern[str]
    announced: re.Pattern[str]
    first: re.Pattern[str]
    only: re.Pattern[str]
    bold: re.Pattern[str]
    alone: re.Pattern[str]


@cache
def _signs_of(letters: str) -> _Signs:
    capital, either = f"([{letters}])", f"([{letters}{letters.lower()}])"
    return _Signs(
        boxed=re.compile(
            rf"\\boxed\s*+\{{\s*+(?:\\(?:text|mathrm|textbf)\s*+\{{\s*+)?\(?{either}\)?\W",
        ),
        announced=re.compile(rf"{_ANNOUNCES}{_WRAP}(?i:option|choice|letter)?{_WRAP}{either}{_NOT_ARTICLE}"),
        first=re.compile(rf"{_WRAP}{capital}{_NOT_ARTICLE}"),
        only=re.compile(rf"\s*+\(?{either}[).:]?\s*+"),
        bold=re.compile(rf"\*\*\s*+\(?{capital}\)?(?:[.:)]\s*+[^*\n]*+)?\s*+\*\*"),
        alone=re.compile(rf"{capital}(?<![\w'’-].)(?<!\bnot .)(?<!\bnot \(.){_NOT_ARTICLE}"),
    )


_WHAT_FOLLOWS = r"(?:\s*+(?=[^\n])|\s*(?=[^\S\n]\n*+\Z))"
"""To the next word; where only blanks are left, to the last of them."""
_STATED = re.compile(
    r"[aA](?i:nswer)(?<=\b\w{6})(?:\s++(?!(?i:answer)\b)\w++){0,6}?\s*+"
    rf"(?:\b(?i:is)\b(?:\s*+:{_WHAT_FOLLOWS}|{_WHAT_FOLLOWS})|:{_WHAT_FOLLOWS})"
)


def extract_stated_answer(text: str) -> str:
    """What stands after the last "answer is" or "answer:", else the first line; no bold, no full stop at the end.

    A line that begins with "Q:" or "Question:" ends the answer.
    Misleads when a model answers in a sentence without announcing its answer.
    Example: extract_stated_answer("We sort them. So the answer is apple pear.") == "apple pear"
    """
    text = own_answer(text)
    announced = deque(_STATED.finditer(text), maxlen=1)
    line = text[announced[0].end() :].partition("\n")[0] if announced else extract_first_line(text)
    return line.strip().strip("*_`\"' ").removesuffix(".").strip("*_`\"' ").strip()


_AFTER_THE_BODY = re.compile(r"\n(?=class\b|def\b|@|#|if\b|print\b|assert\b|```)")


def extract_function_body(text: str) -> str:
    """The program in a continuation of an unfinished function: its body up to the next unindented line.

    A fenced block is used unchanged, and so is a text that begins with its own definition.
    Misleads when a body needs a helper that the model wrote after it: that helper is cut off, as published.
    Example: extract_function_body("    return x + 1\\n\\nprint(f(1))") == "    return x + 1\\n"
    Reference: the stop sequences of Chen et al. 2021, section 2.1.
    """
    if "```" in text or not text.lstrip("\n").startswith((" ", "\t")):
        return extract_code_block(text)
    return _AFTER_THE_BODY.split(text, maxsplit=1)[0]


def extract_last_code_block(text: str) -> str:
    """What stands between the last two lines that hold three backticks; "" where there are fewer than two.

    Misleads when a model ends with another block than its program, such as an example of its output.
    Example: extract_last_code_block("```\\ndraft\\n```\\nBetter:\\n```python\\nprint(1)\\n```") == "print(1)"
    Reference: the extraction of LiveCodeBench.
    """
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


_CLOSED = re.compile(r"\[DONE\]|\[/?BEGIN\]")


def extract_program(text: str) -> str:
    """The program in a text: between [BEGIN] and [DONE] where these stand, else in the first code block, else all.

    Example: extract_program("[BEGIN]\\nx = 1\\n[DONE]") == "x = 1"
    """
    parts = [part for part in _CLOSED.split(text) if part.strip()]
    return extract_code_block((parts[0] if parts else text).strip("\r\n"))
