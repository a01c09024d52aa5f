"""Fields that recipes derive from those of a record, where a template would be hard to read."""

from __future__ import annotations

import re
from string import ascii_uppercase
from typing import Any

from assay.metrics.mathematics import extract_math_answer
from assay.recipes.choices import lettered, shuffled

Fields = dict[str, Any]

_BRACKETED = re.compile(r"\[[^\]\n]{0,100}\]")


def arc(record: Fields) -> Fields:
    """The choices and the right one; some questions have numbers for letters."""
    listed = record["question"]["choices"]
    choices = [choice["text"] for choice in listed]
    right = [choice["label"] for choice in listed].index(record["answerKey"])
    letter = ascii_uppercase[right]
    return {"choices": choices, "right": right, "target": choices[right] if letter in choices else letter}


def gpqa(record: Fields) -> Fields:
    question = record["Question"].strip()
    wrong = [record[f"Incorrect Answer {number}"].strip() for number in (1, 2, 3)]
    choices, letter = shuffled(record["Correct Answer"].strip(), wrong, question)
    return {
        "id": record.get("Record ID"),
        "question": question,
        "choices": lettered(choices, "({letter}) {choice}"),
        "letter": letter,
        "domain": record.get("High-level domain", ""),
        "subdomain": record.get("Subdomain", ""),
    }


def hellaswag(record: Fields) -> Fields:
    second = record["ctx_b"]
    context = f"{record['activity_label']}: {record['ctx_a']} {second[:1].upper()}{second[1:]}"
    return {"context": _clean(context), "endings": [_clean(ending) for ending in record["endings"]]}


def _clean(text: str) -> str:
    """The text without the markup left in the WikiHow half of the data."""
    return _BRACKETED.sub("", text.strip().replace(" [title]", ". ")).replace("  ", " ")


def ifeval(record: Fields) -> Fields:
    """The instructions, each with the options that apply to it: in the file those of others are null."""
    pairs = zip(record["instruction_id_list"], record["kwargs"], strict=True)
    given = [(kind, {key: value for key, value in options.items() if value is not None}) for kind, options in pairs]
    return {"instructions": [{"id": kind, **options} for kind, options in given]}


def math_500(record: Fields) -> Fields:
    answer = str(record["answer"]) if "answer" in record else extract_math_answer(str(record["solution"]))
    if not answer.strip():
        raise ValueError(f"the problem {record['problem'][:60]!r} has no answer")
    texts = {key: str(record.get(key, "")) for key in ("subject", "level")}
    return {"id": str(record.get("unique_id") or ""), "problem": str(record["problem"]), "answer": answer, **texts}


def winogrande(record: Fields) -> Fields:
    start, blank, rest = record["sentence"].partition("_")
    if not blank or not rest.strip():
        raise ValueError(f"{record['sentence']!r} has no blank `_` with words behind it")
    return {"start": start, "rest": rest.strip(), "options": [record["option1"], record["option2"]]}
