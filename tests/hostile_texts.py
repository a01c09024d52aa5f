"""Texts of a megabyte that a broken or hostile model may write: runs of one thing, loops, a long run between two."""

from __future__ import annotations

from collections.abc import Iterator

SIZE = 1_000_000

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
    """Every text with its name, made anew: a hundred megabytes need not lie about."""
    for name, piece in LOOPS.items():
        yield name, run_of(piece)
    for name, (first, piece, last) in BETWEEN.items():
        yield name, first + run_of(piece) + last


def run_of(piece: str) -> str:
    return (piece * (SIZE // len(piece) + 1))[:SIZE]
