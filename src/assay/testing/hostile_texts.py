"""Texts that a broken or hostile model may write: odd ones, and long runs of one thing, loops, a run between two."""

from __future__ import annotations

from collections.abc import Iterator

SIZE = 1_000_000
LONG = 100_000

ODD = (
    "",
    " ",
    "\n\t\r\n",
    "Paris",
    " paris ",
    "The answer is (B).",
    "A, B or C",
    "-1,234.50 %",
    "1e999",
    "NaN",
    "```python\nprint(1)\n```",
    '{"score": 1, "label": "A"}',
    "{{ sample.x }} {% raw %}",
    "<script>alert(1)</script>",
    "a\x00b\x1b[31m",
    "e\u0301 \u00e9 \ufb01 \u202eabc",
    "\U0001f600 \u200b",
    "\u5b57\u3000\u5b57\u3002",
    "half a character: \ud83d",
)
"""Short texts of every kind that readers stumble over."""

LOOPS = {
    "newlines": "\n",
    "blanks": " ",
    "mixed blanks": "\t\n",
    "blank lines": " \n",
    "unicode blanks": "\u00a0\u2003\u3000",
    "square brackets": "[",
    "braces": "{",
    "parentheses": "(",
    "closed brackets": "[]",
    "closed braces": "{}",
    "open lists": "[1,",
    "open objects": '{"a":',
    "open strings": '["',
    "fences": "```",
    "fences in lines": "```\n",
    "fences with a language": "```a\n",
    "double quotes": '"',
    "single quotes": "'",
    "backslashes": "\\",
    "digits": "1",
    "digits and commas": "1,",
    "digits and points": "1.",
    "digits, points and commas": "1.,",
    "numbers": "1 ",
    "minus signs": "-",
    "amounts": "$1",
    "boxes": "\\boxed{",
    "closed boxes": "\\boxed{}",
    "the answer is": "The answer is ",
    "the answer is, colon": "The answer is: ",
    "the answer is, in lines": "The answer is:\n",
    "answer": "answer ",
    "Answer:": "Answer:",
    "Answer: in lines": "Answer:\n",
    "choices": "A. ",
    "choices in parentheses": "(A) ",
    "letters": "A",
    "articles": "a ",
    "tags": "<answer>",
    "angle brackets": "<<",
    "hashes": "#### ",
    "stars": "**",
    "bold choices": "**A.",
    "bullets": "* a\n",
    "questions": "Q: ",
    "questions in lines": "\nQ",
    "sentences": "a. ",
    "points": ".",
    "abbreviations": "Mr. ",
    "programs": "def f():\n    return 1\n",
    "escapes": "\x1b[",
    "zero widths": "\u200b",
    "Chinese": "字",
    "combining characters": "e\u0301",
    "emoji": "😀",
}

BETWEEN = {
    "a line break too many": ("a", "\n", "b"),
    "a number after line breaks": ("The answer is", "\n", "4"),
    "a number after blanks": ("The answer is", " ", "4"),
    "nothing after line breaks": ("The answer is:", "\n", ""),
    "a letter after line breaks": ("Answer:", "\n", "B"),
    "a letter in a wide box": ("\\boxed{", " ", "B}"),
    "a box without an end": ("\\boxed{", "{}", ""),
    "a wide bold choice": ("**A.", " ", "x"),
    "a tall bold choice": ("**A.", "\n", "x"),
    "a fence and line breaks": ("```json", "\n", "```"),
    "a fence of tildes": ("~~~", "~", "`"),
    "a title without an end": ("<<", "a", ""),
    "one long word": ("answer ", "x", " is 4"),
    "a deep list": ("[" * 900, "1,", ""),
    "a score of many digits": ('{"score": ', "1", "}"),
}


def texts() -> Iterator[tuple[str, str]]:
    """Every text with its name, made on each call: a hundred megabytes need not be kept."""
    for name, piece in LOOPS.items():
        yield name, run_of(piece)
    for name, (first, piece, last) in BETWEEN.items():
        yield name, first + run_of(piece) + last


def long_texts() -> Iterator[tuple[str, str]]:
    """The same at a tenth of the length, each with the Python that makes it."""
    for first, piece, last in (*(("", piece, "") for piece in LOOPS.values()), *BETWEEN.values()):
        count = LONG // len(piece)
        python = f"{piece!r} * {count}"
        # a long beginning is a repetition itself
        start = f"{first[:1]!r} * {len(first)}" if len(first) > 100 else f"{first!r}"
        python = " + ".join(([start] if first else []) + [python] + ([f"{last!r}"] if last else []))
        yield python, first + piece * count + last


def run_of(piece: str) -> str:
    return (piece * (SIZE // len(piece) + 1))[:SIZE]
