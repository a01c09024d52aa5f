"""Reading the answer out of a text that explains itself: the final number, the chosen letter. Pure functions.

Each looks for the clearest sign first (a box, an announcement) and takes less clear ones only where there is none;
"" means that nothing was found, which the leaderboard counts.
"""

from __future__ import annotations

import re

_NUMBER = r"(?<![\w.])[-−+]?\s?(?:[$€£]\s?)?[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_NUMBERS = re.compile(_NUMBER)
_HASHES = re.compile(r"####\s*([^\n]*)")
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_ANNOUNCED_NUMBER = re.compile(r"(?i)\banswer\b[^\n\d]{0,60}?(?:\bis\b|:|=)\s*(?=([^\n]*))")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")


_NEXT_QUESTION = re.compile(r"(?<=\S)\s*\n\s*(?:Q|Question)\s*:")


def own_answer(text: str) -> str:
    """The text up to where a model that only continues invents the next question of a list and answers that too.

    Example: own_answer("It is 7.\\n\\nQuestion: And 2 + 2?\\nAnswer: 4") == "It is 7."
    """
    begin = _NEXT_QUESTION.search(text)
    return text[: begin.start()] if begin else text


def extract_final_number(text: str) -> str:
    """The number a worked answer ends with, without commas, currency and idle zeros; "" when there is none.

    Signs, clearest first: after `####`, in `\\boxed{…}`, after "answer is" or "answer:", in bold, the last number.
    A line that begins with "Q:" or "Question:" ends the answer.
    Misleads when the answer is followed by a check or a remark with another number in it, and nothing announces it.
    Example: extract_final_number("So 6 × 7 = 42 apples.") == "42"
    """
    text = own_answer(text)
    for signs in (_HASHES.findall(text), _BOXED.findall(text)):
        if signs:
            return _last_number(signs[-1]) or _last_number(text)
    for announced in reversed(_ANNOUNCED_NUMBER.findall(text)):
        if found := _announced_number(announced):
            return found
    for bold in reversed(_BOLD.findall(text)):
        if found := _last_number(bold):
            return found
    return _last_number(text)


def _announced_number(said: str) -> str:
    """Of "3 + 4 = 7 apples" the 7; of "7 apples in 2 bags" the 7."""
    after = said.rpartition("=")[2]
    found = _NUMBERS.search(after) or _NUMBERS.search(said)
    return plain_number(found[0]) if found else ""


def _last_number(text: str) -> str:
    found = _NUMBERS.findall(text)
    return plain_number(found[-1]) if found else ""


def plain_number(text: str) -> str:
    """One spelling per number: "1,200.50" is "1200.5", "$ 7.00" is "7", "−3" is "-3".

    Example: plain_number("1,234.00") == "1234"
    """
    bare = re.sub(r"[,\s$€£%+]", "", text.replace("−", "-"))
    sign, digits = ("-", bare[1:]) if bare.startswith("-") else ("", bare)
    whole, point, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    number = f"{whole}.{fraction}" if point and fraction else whole
    return number if number == "0" else sign + number


CHOICES = "ABCDE"

# "A" and "a" are also an article: followed by another word than these, they choose nothing
_NOT_ARTICLE = r"(?!['’-]?\w)(?!\s+(?!(?:is|was|because|since|as|and|for|with|would|seems|looks|must|fits|but)\b)[a-z])"
_WRAP = r"[\s*_\"'`(\[{$]*"


def extract_choice(text: str) -> str:
    """The letter A to E that a text settles on, however it says so; "" when there is none.

    Signs, clearest first: `\\boxed{B}`, "the answer is (B)", a text that begins with the letter, a letter in bold, the
    last letter that stands alone. A letter after "not" chooses nothing.
    Misleads when options are weighed and none is announced: "B, or perhaps C" begins with B and is read as B.
    Example: extract_choice("**B** because Paris is in France") == "B"
    """
    return final_letter(text, CHOICES)


def final_letter(text: str, letters: str) -> str:
    """`extract_choice` among these capital letters."""
    either = f"[{letters}{letters.lower()}]"
    capital = f"[{letters}]"
    boxed = re.findall(rf"\\boxed\s*\{{\s*(?:\\(?:text|mathrm|textbf)\s*\{{)?\s*\(?({either})\)?\W", text)
    if boxed:
        return str(boxed[-1]).upper()
    word = r"(?i:answer|option|choice|solution|select|choose|pick|go with)"
    copula = r"(?:\s+(?i:is|would be|should be|must be|to this question is))?"
    announced = re.findall(
        rf"\b{word}\b{copula}\s*[:=-]?{_WRAP}(?i:option|choice|letter)?{_WRAP}({either}){_NOT_ARTICLE}", text
    )
    if announced:
        return str(announced[-1]).upper()
    first = re.match(rf"{_WRAP}({capital}){_NOT_ARTICLE}", text) or re.fullmatch(rf"\s*\(?({either})[).:]?\s*", text)
    if first:
        return first[1].upper()
    bold = re.findall(rf"\*\*\s*\(?({capital})\)?(?:[.:)]\s*[^*\n]*)?\s*\*\*", text)
    if bold:
        return str(bold[-1])
    alone = re.findall(rf"(?<![\w'’-])(?<!\bnot )(?<!\bnot \()({capital}){_NOT_ARTICLE}", text)
    return str(alone[-1]) if alone else ""
