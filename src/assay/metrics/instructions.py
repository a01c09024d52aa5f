"""Instructions that a program can check: 25 kinds, each a pure function of the text and the instruction's options.

The kinds, their names and what they mean are those of Zhou et al. 2023. A text follows an instruction *strictly* as it
is, and *loosely* when it does after dropping its first or last line, or the asterisks of Markdown.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.metrics.languages import language_of

Check = Callable[..., bool]


def follows(text: str, instruction: Mapping[str, Any]) -> bool:
    """Whether the text, as it is, does what the instruction says. An empty text follows nothing.

    Example: follows("all lower", {"id": "punctuation:no_comma"})
    Reference: Zhou et al. 2023, Instruction-Following Evaluation for Large Language Models.
    """
    options = {name: value for name, value in instruction.items() if name != "id"}
    return bool(text.strip()) and CHECKS[str(instruction["id"])](text, **options)


def follows_loosely(text: str, instruction: Mapping[str, Any]) -> bool:
    """Whether the text would, without its first line, its last line, both, and with or without asterisks."""
    return any(follows(variant, instruction) for variant in loose_variants(text))


def loose_variants(text: str) -> list[str]:
    lines = text.split("\n")
    cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(variant.replace("*", "") for variant in cut)]


def _compare(count: int, relation: str, bound: int) -> bool:
    if relation == "less than":
        return count < bound
    if relation == "at least":
        return count >= bound
    raise ValueError(f"unknown relation `{relation}`; known: less than, at least")


def _keywords(text: str, *, keywords: Sequence[str]) -> bool:
    return all(re.search(re.escape(word), text, re.IGNORECASE) for word in keywords)


def _keyword_frequency(text: str, *, keyword: str, frequency: int, relation: str) -> bool:
    return _compare(len(re.findall(re.escape(keyword), text, re.IGNORECASE)), relation, frequency)


def _forbidden_words(text: str, *, forbidden_words: Sequence[str]) -> bool:
    return not any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in forbidden_words)


def _letter_frequency(text: str, *, letter: str, let_frequency: int, let_relation: str) -> bool:
    return _compare(Counter(text.lower())[letter.lower()], let_relation, let_frequency)


def _language(text: str, *, language: str) -> bool:
    return language_of(text) == language


def _sentences(text: str, *, num_sentences: int, relation: str) -> bool:
    return _compare(count_sentences(text), relation, num_sentences)


_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|No|Inc|Ltd|Ph\.D|U\.S|a\.m|p\.m)\.$")


def count_sentences(text: str) -> int:
    """Runs of text that end with a full stop, question or exclamation mark, or with a blank line."""
    count = 0
    for paragraph in re.split(r"\n\s*\n", text):
        begin = 0
        for mark in re.finditer(r"[.!?…]+[\"'”’)\]*]*(?=\s|$)", paragraph):
            piece = paragraph[begin : mark.end()]
            if _ABBREVIATION.search(piece.rstrip("\"'”’)]*")) and mark.end() < len(paragraph.rstrip()):
                continue
            if re.search(r"\w", piece):
                count += 1
            begin = mark.end()
        count += bool(re.search(r"\w", paragraph[begin:]))
    return count


def _paragraphs(text: str, *, num_paragraphs: int) -> bool:
    parts = re.split(r"\s?\*\*\*\s?", text)
    inner_empty = any(not part.strip() for part in parts[1:-1])
    filled = sum(1 for part in parts if part.strip())
    return not inner_empty and filled == num_paragraphs


def _words(text: str, *, num_words: int, relation: str) -> bool:
    return _compare(len(re.findall(r"\w+", text)), relation, num_words)


def _nth_paragraph_first_word(text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = re.split(r"\n\n", text)
    filled = sum(1 for part in parts if part.strip())
    if nth_paragraph > len(parts) or not parts[nth_paragraph - 1].strip():
        return False
    word = parts[nth_paragraph - 1].split()[0].lstrip("'\"")
    bare = re.split(r"[.,?!'\"]", word)[0].lower()
    return filled == num_paragraphs and bare == first_word.lower()


def _placeholders(text: str, *, num_placeholders: int) -> bool:
    return len(re.findall(r"\[.*?\]", text)) >= num_placeholders


def _postscript(text: str, *, postscript_marker: str) -> bool:
    patterns = {"P.P.S": r"\s*p\.\s?p\.\s?s.*$", "P.S.": r"\s*p\.\s?s\..*$"}
    pattern = patterns.get(postscript_marker, rf"\s*{re.escape(postscript_marker.lower())}.*$")
    return bool(re.search(pattern, text.lower(), re.MULTILINE))


def _bullets(text: str, *, num_bullets: int) -> bool:
    stars = re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^\s*-.*$", text, re.MULTILINE)
    return len(stars) + len(dashes) == num_bullets


_CONSTRAINED = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def _constrained(text: str) -> bool:
    return any(answer in text.strip() for answer in _CONSTRAINED)


def _highlights(text: str, *, num_highlights: int) -> bool:
    single = [part for part in re.findall(r"\*[^\n\*]*\*", text) if part.strip("*").strip()]
    double = [part for part in re.findall(r"\*\*[^\n\*]*\*\*", text) if part.strip("*").strip()]
    return len(single) + len(double) >= num_highlights


def _sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    return len(re.split(rf"\s?{re.escape(section_spliter)}\s?\d+\s?", text)) - 1 >= num_sections


def _json(text: str) -> bool:
    bare = re.sub(r"\A```(?:json)?", "", text.strip(), flags=re.IGNORECASE).removesuffix("```").strip()
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str) -> bool:
    return any(part.lstrip("<").rstrip(">").strip() for part in re.findall(r"<<[^\n]+>>", text))


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
    words = re.findall(r"\w+(?:[-'’.]\w+)*", text)
    return _compare(sum(1 for word in words if word.isupper()), capital_relation, capital_frequency)


def _all_capital(text: str) -> bool:
    return text.isupper() and language_of(text) in ("en", None)


def _all_lowercase(text: str) -> bool:
    return text.islower() and language_of(text) in ("en", None)


def _no_comma(text: str) -> bool:
    return "," not in text


def _quotation(text: str) -> bool:
    bare = text.strip()
    return len(bare) > 1 and bare.startswith('"') and bare.endswith('"')


CHECKS: dict[str, Check] = {
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
