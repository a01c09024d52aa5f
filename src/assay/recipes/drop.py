"""The records of DROP: questions below their passages, with the answers of several annotators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    name = sources.find("drop_dataset_dev.json", "validation.jsonl", "validation.parquet") or ""
    shown = _examples(sources, settings)
    yield TaskRecords("drop", _fields(sources, name), shown)


def _fields(sources: Sources, name: str) -> Iterator[Fields]:
    for passage, question in _questions(sources, name):
        if not (answers := _answers(question)):
            sources.remark("questions without any answer are left out")
            continue
        yield {
            "file": name,
            "passage": passage,
            "question": str(question["question"]),
            "query_id": str(question["query_id"]),
            "answers": answers,
            "targets": [", ".join(spans) for spans in answers],
            "answer_type": _kind(question["answer"]),
        }


def _questions(sources: Sources, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Passage and question: the original file has questions below their passage, the hub's has rows."""
    for record in sources.records(name):
        passage = str(record["passage"])
        for question in record.get("qa_pairs", [record]):
            yield passage, question


def _answers(question: dict[str, Any]) -> list[list[str]]:
    """The distinct answers, the main one first; those of other annotators may be a list, or columns."""
    validated = question.get("validated_answers") or []
    if isinstance(validated, dict):
        validated = [dict(zip(validated, item, strict=True)) for item in zip(*validated.values(), strict=True)]
    answers: list[list[str]] = []
    for answer in (_spans(item) for item in (question["answer"], *validated)):
        if answer and answer[0].strip() and answer not in answers:
            answers.append(answer)
    return answers


def _spans(answer: dict[str, Any]) -> list[str]:
    if str(answer.get("number") or ""):
        return [str(answer["number"])]
    if spans := answer.get("spans"):
        return [str(span) for span in spans]
    date = answer.get("date") or {}
    return [" ".join(str(date.get(part) or "") for part in ("day", "month", "year")).strip()]


def _kind(answer: dict[str, Any]) -> str:
    if str(answer.get("number") or ""):
        return "number"
    return {0: "date", 1: "span"}.get(len(answer.get("spans") or ()), "spans")


def _examples(sources: Sources, settings: RecipeSettings) -> list[Fields]:
    if settings.variant != "few-shot" or settings.shots == 0:
        return []
    name = sources.examples_file("drop_dataset_train.json", "train.jsonl", "train.parquet")
    shown: dict[str, Fields] = {}
    for passage, question in _questions(sources, name):
        if passage not in shown and (answers := _answers(question)):
            shown[passage] = {"passage": passage, "question": question["question"], "answers": answers}
        if len(shown) == settings.shots:
            break
    return [*shown.values()]
