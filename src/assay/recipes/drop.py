"""DROP: questions about a passage that want counting, sorting or arithmetic; F1 and exact match over spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task

CHAT = (
    "Read the passage and answer the question about it. End with a line that holds `Answer: ` and the answer alone: a "
    "number, a date, or words of the passage; several spans with commas between them."
)


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("drop_dataset_dev.json", "validation.jsonl", "validation.parquet") or ""
    examples = _examples(sources, settings)
    for passage, question in _questions(sources, name):
        if not (answers := _answers(question)):
            sources.remark("questions without any answer are left out")
            continue
        yield {
            "id": str(question["query_id"]),
            "targets": [", ".join(spans) for spans in answers],
            "metric": "drop",
            "metadata": {"answer_type": _kind(question["answer"]), "source_sha256": sources.sha256(name)},
            **_request_fields(examples, passage, str(question["question"]), answers, settings.variant),
        }


def _request_fields(
    examples: str, passage: str, question: str, answers: list[list[str]], variant: str
) -> dict[str, Any]:
    extras: dict[str, Any] = {"answers": answers}
    if variant == "chat":
        prompt = f"{CHAT}\n\nPassage: {passage}\nQuestion: {question}"
        return {"prompt": prompt, "post_process": "extract_stated_answer", "extras": extras}
    if variant == "lm-eval":
        generation = {"stop": ["."], "max_tokens": 256}
        return {"prompt": f"{passage} {question}", "extras": {**extras, "generation": generation}}
    extras["generation"] = {"stop": ["\n"], "max_tokens": 256}
    prompt = f"{examples}Passage: {passage}\nQuestion: {question}\nAnswer:"
    return {"prompt": prompt, "post_process": "extract_first_line", "extras": extras}


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
        validated = [dict(zip(validated, each, strict=True)) for each in zip(*validated.values(), strict=True)]
    answers: list[list[str]] = []
    for answer in (_spans(each) for each in (question["answer"], *validated)):
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


def _examples(sources: Sources, settings: RecipeSettings) -> str:
    if settings.variant != "few-shot" or settings.shots == 0:
        return ""
    name = sources.examples_file("drop_dataset_train.json", "train.jsonl", "train.parquet")
    shown: list[str] = []
    seen: set[str] = set()
    for passage, question in _questions(sources, name):
        if passage in seen or not (answers := _answers(question)):
            continue
        seen.add(passage)
        prompt = f"Passage: {passage}\nQuestion: {question['question']}"
        shown.append(f"{prompt}\nAnswer: {', '.join(answers[0])}\n\n")
        if len(shown) == settings.shots:
            break
    return "".join(shown)


RECIPE = Recipe(
    name="drop",
    title="DROP",
    source="allenai.org/data/drop, drop_dataset.zip: drop_dataset_dev.json (9,536 questions), drop_dataset_train.json",
    licence="CC-BY-SA-4.0",
    reference="Dua et al. 2019, DROP: A Reading Comprehension Benchmark Requiring Discrete Reasoning Over Paragraphs",
    variants={
        "few-shot": "few-shot examples of the training file, then passage, question, `Answer:`; the first line counts",
        "chat": "an instruction, and the answer on a last line",
        "lm-eval": "passage and question alone, up to the first full stop, as lm-evaluation-harness asks",
    },
    default_shots=3,
    make=one_task("drop", _rows),
    sha256={"drop_dataset.zip": "39d2278a29fd729de301b111a45f434c24834f40df8f4ff116d864589e3249d6"},
    downloads=(
        PublishedFile(
            "drop_dataset.zip",
            "https://s3-us-west-2.amazonaws.com/allennlp/datasets/drop/drop_dataset.zip",
            8_308_692,
            members=("drop_dataset_dev.json", "drop_dataset_train.json"),
        ),
    ),
    notes=(
        "the sha256 of the archive is known, those of its files are not: they need `assay recipe fetch drop`, or "
        "--accept-other-source; tested on records made in the published shape",
        "F1 and exact match are DROP's (numbers must agree, spans are paired best, two decimals), the best over all "
        "annotators' answers; equal to lm-evaluation-harness's for answers of one span. For answers of several, a list "
        "with commas is read as a list, where lm-evaluation-harness reads one span",
        "the few-shot examples are the first questions of the first passages, the same for every question",
    ),
)
