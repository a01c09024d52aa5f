"""Instructions that a program can check: 25 kinds, each a pure function of the text and the instruction's options.

The kinds, their names and what they mean are those of Zhou et al. 2023. A text follows an instruction *strictly* as it
is, and *loosely* when it does after dropping its first or last line, or the asterisks of Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from math import ceil
from operator import itemgetter
from typing import Any

from assay.metrics.languages import language_of

InstructionCheck = Callable[..., bool]


def follows(text: str, instruction: Mapping[str, Any]) -> bool:
    """Whether the text, as it is, does what the instruction says. An empty text follows nothing.

    Example: follows("all lower", {"id": "punctuation:no_comma"})
    Reference: Zhou et al. 2023, Instruction-Following Evaluation for Large Language Models.
    """
    options = {name: value for name, value in instruction.items() if name != "id"}
    return bool(text.strip()) and CHECKS[str(instruction["id"])](text, **options)


def loose_variants(text: str) -> list[str]:
    """The text itself, and without its first line, its last line or both, each with and without asterisks."""
    first, last = text.find("\n") + 1 or len(text), max(text.rfind("\n"), 0)
    cut = [text, *(part.strip() for part in (text[first:], text[:last], text[first:last]))]
    return list(dict.fromkeys([*cut, *(variant.replace("*", "") for variant in cut)]))


def _up_to(most: float, matches: Iterable[Any]) -> int:
    """The number of matches, counted up to `most`."""
    return sum(1 for _ in islice(matches, max(ceil(most), 0)))


_RELATIVES = {"i": "ıİ", "k": "\N{KELVIN SIGN}", "s": "ſ"}
"""Other characters that `re` takes for these letters when it ignores case."""


@lru_cache(maxsize=1024)
def _in_any_case(word: str, *, alone: bool = False) -> re.Pattern[str]:
    """The word in upper or lower case. A first letter of ASCII is a set, so that a search skips what is not in it."""
    edge, no_word_before = (r"\b", r"(?<!\w.)") if alone else ("", "")
    first, rest = word[:1].lower(), re.escape(word[1:])
    if not "a" <= first <= "z":
        return re.compile(f"{edge}{re.escape(word)}{edge}", re.IGNORECASE)
    return re.compile(f"[{first}{first.upper()}{_RELATIVES.get(first, '')}]{no_word_before}(?i:{rest}){edge}")


def _compare(count: int, relation: str, bound: int) -> bool:
    if relation == "less than":
        return count < bound
    if relation == "at least":
        return count >= bound
    raise ValueError(f"unknown relation `{relation}`; known: less than, at least")


def _keywords(text: str, *, keywords: Sequence[str]) -> bool:
    return all(_in_any_case(word).search(text) for word in keywords)


def _keyword_frequency(text: str, *, keyword: str, frequency: int, relation: str) -> bool:
    return _compare(_up_to(frequency, _in_any_case(keyword).finditer(text)), relation, frequency)


def _forbidden_words(text: str, *, forbidden_words: Sequence[str]) -> bool:
    return not any(_in_any_case(word, alone=True).search(text) for word in forbidden_words)


def _letter_frequency(text: str, *, letter: str, let_frequency: int, let_relation: str) -> bool:
    letter = letter.lower()
    return _compare(text.lower().count(letter) if len(letter) == 1 else 0, let_relation, let_frequency)


def _language(text: str, *, language: str) -> bool:
    return language_of(text) == language


def _sentences(text: str, *, num_sentences: int, relation: str) -> bool:
    return _compare(count_sentences(text, num_sentences), relation, num_sentences)


_NOT_ABBREVIATED = (
    r"(?<!\b(?:Mr|Ms|Dr|St|Jr|Sr|vs|No)\.)(?<!\b(?:Mrs|etc|e\.g|i\.e|Inc|Ltd|U\.S|a\.m|p\.m)\.)(?<!\b(?:Prof|Ph\.D)\.)"
)
_CLOSED = r"[\"'”’)\]*]*+"
_SENTENCE_END = re.compile(
    rf"[.!?…](?<![.!?…].)[.!?…]*+(?:{_NOT_ABBREVIATED}|(?={_CLOSED}\s*+\Z)){_CLOSED}(?=\s|$)",
)
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w\w*+")


def count_sentences(text: str, most: int | None = None) -> int:
    """Runs of text that end with a full stop, question or exclamation mark, or with a blank line; at most `most`."""
    ends = chain.from_iterable(map(_sentence_ends, _paragraphs_of(text)))
    return _up_to(len(text) if most is None else most, ends)


def _paragraphs_of(text: str) -> Iterator[str]:
    begin = 0
    for blank in _PARAGRAPH_END.finditer(text):
        yield text[begin : blank.start()]
        begin = blank.end()
    yield text[begin:]


def _sentence_ends(paragraph: str) -> Iterator[int]:
    """Where each sentence of a paragraph ends: at the first mark after its first word that ends no abbreviation."""
    end = 0
    while word := _WORD.search(paragraph, end):
        mark = _SENTENCE_END.search(paragraph, word.end())
        end = mark.end() if mark else len(paragraph)
        yield end


def _paragraphs(text: str, *, num_paragraphs: int) -> bool:
    parts = text.split("***")
    inner_empty = any(not part.strip() for part in parts[1:-1])
    filled = sum(1 for part in parts if part.strip())
    return not inner_empty and filled == num_paragraphs


def _words(text: str, *, num_words: int, relation: str) -> bool:
    return _compare(_up_to(num_words, _WORD.finditer(text)), relation, num_words)


def _nth_paragraph_first_word(text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = text.split("\n\n")
    filled = sum(1 for part in parts if part.strip())
    if nth_paragraph > len(parts) or not parts[nth_paragraph - 1].strip():
        return False
    word = parts[nth_paragraph - 1].split(maxsplit=1)[0].lstrip("'\"")
    bare = re.split(r"[.,?!'\"]", word, maxsplit=1)[0].lower()
    return filled == num_paragraphs and bare == first_word.lower()


def _placeholders(text: str, *, num_placeholders: int) -> bool:
    # an opening bracket that is not closed takes the rest of its line with it: no other in that line is closed
    return _up_to(num_placeholders, filter(None, re.findall(r"\[[^\]\n]*+(\]?)", text))) >= num_placeholders


def _postscript(text: str, *, postscript_marker: str) -> bool:
    patterns = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
    return bool(re.search(patterns.get(postscript_marker, re.escape(postscript_marker.lower())), text.lower()))


def _bullets(text: str, *, num_bullets: int) -> bool:
    text = f"\n{text}"
    stars = re.finditer(r"\n[^\S\n]*+\*[^*][^\n]*+", text) if "*" in text else ()
    dashes = re.finditer(r"\n[^\S\n]*+-", text) if "-" in text else ()
    return _up_to(num_bullets + 1, chain(stars, dashes)) == num_bullets


_CONSTRAINED = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def _constrained(text: str) -> bool:
    return any(answer in text.strip() for answer in _CONSTRAINED)


def _highlights(text: str, *, num_highlights: int) -> bool:
    single, double = re.findall(r"\*([^\n*]*+)\*", text), re.findall(r"\*\*([^\n*]*+)\*\*", text)
    return _up_to(num_highlights, filter(str.strip, chain(single, double))) >= num_highlights


def _sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    return _up_to(num_sections, re.finditer(rf"{re.escape(section_spliter)}\s?\d++", text)) >= num_sections


def _json(text: str) -> bool:
    bare = re.sub(r"\A```(?:json)?", "", text.strip(), flags=re.IGNORECASE).removesuffix("```").strip()
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str) -> bool:
    rest_of_lines = re.findall(r"<<([^\n]*+)", text) if ">>" in text else ()
    return any(rest[: rest.rfind(">>")].lstrip("<").rstrip(">").strip() for rest in rest_of_lines if ">>" in rest)


def _two_responses(text: str) -> bool:
    parts = text.split("******")
    inner_empty = any(not part.strip() for part in parts[1:-1])
    answers = [part.strip() for part in parts if part.strip()]
    return not inner_empty and len(answers) == 2 and answers[0] != answers[1]


def _repeat_prompt(text: str, *, prompt_to_repeat: str) -> bool:
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


def _end(text: str, *, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def _capital_words(text: str, *, capital_frequency: int, capital_relation: str) -> bool:
    has_capitals = any(map(str.isupper, set(text)))
    words = re.finditer(r"\w\w*+(?:[-'’.]\w++)*", text) if has_capitals else ()
    capital = filter(str.isupper, map(itemgetter(0), words))
    return _compare(_up_to(capital_frequency, capital), capital_relation, capital_frequency)


def _all_capital(text: str) -> bool:
    return text.isupper() and language_of(text) in ("en", None)


def _all_lowercase(text: str) -> bool:
    return text.islower() and language_of(text) in ("en", None)


def _no_comma(text: str) -> bool:
    return "," not in text


def _quotation(text: str) -> bool:
    bare = text.strip()
    return len(bare) > 1 and bare.startswith('"') and bare.endswith('"')


CHECKS: dict[str, InstructionCheck] = {
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": _all_capital,
    "change_case:english_lowercase": _all_lowercase,
    "combination:repeat_prompt": _repeat_prompt,
    "combination:two_responses": _two_responses,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:constrained_response": _constrained,
    "detectable_format:json_format": _json,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:title": _title,
    "keywords:existence": _keywords,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:frequency": _keyword_frequency,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _language,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_words": _words,
    "punctuation:no_comma": _no_comma,
    "startend:end_checker": _end,
    "startend:quotation": _quotation,
}
