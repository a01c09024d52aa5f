"""Post-process rules: the part of a completion that a metric compares. One rule per task, each a plain function."""

from __future__ import annotations

import re


def nothing_extracted(raw: str, rule: str, result: str) -> bool:
    """Whether an `extract_*` rule extracted nothing from `raw`.

    A completion without a code fence is taken whole, which is not nothing, unless it is blank.
    """
    return rule.startswith("extract_") and not result.strip()


def none(text: str) -> str:
    """The text as it is.

    Example: none(" B ") == " B "
    """
    return text


def strip_whitespace(text: str) -> str:
    """The text without the whitespace around it.

    Example: strip_whitespace(" 41\\n") == "41"
    """
    return text.strip()


def lower(text: str) -> str:
    """The text in lowercase, whitespace untouched.

    Example: lower("Positive ") == "positive "
    """
    return text.lower()


# An apostrophe or a hyphen ties a letter to the next ("A's", "E-mail", "A-E"); an underscore ("_B_") does not.
# The letter comes first, with a look-behind for what precedes it: so a search can skip everything else.
_LETTER_ALONE = re.compile(r"[A-E](?<![^\W_].)(?<![^\W_]['’-].)(?![^\W_]|['’-][^\W_])")
_LETTER = re.compile(r"[A-E]")


def extract_letter(text: str) -> str:
    """The first capital A to E that stands alone; without one, the first A to E at all; otherwise "".

    Misleads when a letter stands alone for another reason than being the answer: the article in "A good question: B"
    is read as A, and so is the option dismissed first in "I think A is wrong, the answer is B". Without a lone letter
    a word is read: "Definitely" gives D. Ask for the letter alone.
    Example: extract_letter("Answer: (B).") == "B"
    """
    match = _LETTER_ALONE.search(text) or _LETTER.search(text)
    return match[0] if match else ""


_FENCE = re.compile(r"(?P<ticks>````*+)(?:[^\n`]*+(?:\n|\Z))?")


def extract_code_block(text: str) -> str:
    """The body of the first block fenced by three backticks, or the whole text unchanged when there is none.

    The line of the opening fence (with its language tag) is dropped, and so is the fence's own indentation in the
    lines below it. A fence that is never closed, as after a completion that ran into its token limit, reaches to the
    end. Misleads when the first block is not the answer: an example of input, or a draft.
    Example: extract_code_block("Sure:\\n```python\\nprint(41)\\n```\\nDone.") == "print(41)"
    """
    opening = _FENCE.search(text)
    if opening is None:
        return text
    before = text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()]
    indent = 0 if before.strip(" \t") else len(before)
    body = text[opening.end() : _end_of_block(text, opening.end(), opening["ticks"], indent)].removesuffix("\r")
    return re.sub(rf"(?m)^[ \t]{{1,{indent}}}", "", body) if indent else body


def _end_of_block(text: str, start: int, ticks: str, indent: int) -> int:
    inside = text.find(ticks, start)
    if inside < 0:
        return len(text)
    # A fence at the start of a line closes before one inside a line does: the code may print backticks. Indented by
    # four more than the opening one it is part of the code, as in a docstring with an example.
    line = text.rfind("\n", 0, inside)
    blanks = rf"[ \t]{{0,{indent}}}+ {{0,3}}+"
    closing = re.compile(rf"\n{blanks}`{{{len(ticks)},}}").search(text, max(line, start - 1))
    if closing is None:
        return len(text) if line >= start - 1 and not text[line + 1 : inside].strip(" \t") else inside
    return max(start, closing.start())


def extract_first_line(text: str) -> str:
    """The first line that is not blank, without the whitespace around it; "" when there is none.

    Misleads when the model greets first: "Sure, here it is:" is a line.
    Example: extract_first_line("\\n  positive \\nbecause …") == "positive"
    """
    return _LINE_END.split(text.lstrip(), maxsplit=1)[0].rstrip()


# what `str.splitlines` splits at
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
