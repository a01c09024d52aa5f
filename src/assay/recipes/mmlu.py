"""MMLU: four choices in 57 subjects, after five solved questions of the same subject; one task per subject."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

LETTERS = "ABCD"


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    for test in sources.names("*_test.csv"):
        subject = Path(test).name.removesuffix("_test.csv")
        yield f"mmlu-{subject.replace('_', '-')}", _rows(sources, settings, test, subject)


def _rows(sources: Sources, settings: RecipeSettings, test: str, subject: str) -> Iterator[Row]:
    about = subject.replace("_", " ")
    before = f"The following are multiple choice questions (with answers) about {about}.\n\n"
    if settings.shots:
        dev = sources.find(f"dev/{subject}_dev.csv") or ""
        before += "".join(f"{_question(row)} {row[5]}\n\n" for row in _records(sources, dev)[: settings.shots])
    for number, row in enumerate(_records(sources, test)):
        line: Row = {
            "id": f"{subject}-{number:04}",
            "prompt": before + _question(row),
            "targets": [row[5].strip()],
            "metric": "choice_likelihood",
            "extras": {"choices": list(LETTERS)},
            "metadata": {"subject": subject, "source_sha256": sources.sha256(test)},
        }
        if settings.variant == "generate":
            line |= {"metric": "exact_match", "post_process": "extract_choice"}
        yield line


def _question(row: list[str]) -> str:
    choices = "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, row[1:5], strict=True))
    return f"{row[0]}\n{choices}\nAnswer:"


def _records(sources: Sources, name: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(sources.read(name).decode("utf-8"))))
    return [row for row in rows if len(row) == 6]


RECIPE = Recipe(
    name="mmlu",
    title="MMLU",
    source="hendrycks/test, data/test/*.csv and data/dev/*.csv (14,042 questions in 57 subjects)",
    licence="MIT",
    reference="Hendrycks et al. 2021, Measuring Massive Multitask Language Understanding",
    variants={
        "likelihood": "the likeliest of the letters A to D after the prompt, as published; the model must score texts",
        "generate": "the model writes, and the letter is extracted from its answer",
    },
    default_shots=5,
    make=_make,
    sha256={
        "data.tar": "bec563ba4bac1d6aaf04141cd7d1605d7a5ca833e38f994051e818489592989b",
        "astronomy_test.csv": "87c9c3cb5a55395c70dd9ed521dd7d2629fd4ff236c5ab647102e007f52a9341",
        "computer_security_test.csv": "8e40f809858db9dd8585036b53984e570b6101f72be2214b85e979c7fafa307f",
        "elementary_mathematics_test.csv": "50aca74e92c6ffa50ada650f9b14af333490ea7c6649c73ccde48b78051dc27c",
        "global_facts_test.csv": "84d6bcd165fba01327a8c5503239da9a00b7bd8a1b48db61d5774de29ee823aa",
        "high_school_geography_test.csv": "b59382702daeb29a5ff8e255d5a22a33775c79859defd089a1cd835e0949b3af",
        "miscellaneous_test.csv": "f850dd48e37a545cef57741206598de71e2b2f6b008c8c7a51a4530987ae3ee7",
        "astronomy_dev.csv": "bb03eca519a3fbc04017dc4783635763ac928f0811ce6243dbcbf0d526dbe1e3",
        "computer_security_dev.csv": "09e276300dbd2d07906dbe4ff82aabf45b9765f933eb7d0f35ea3ea97dee8020",
        "elementary_mathematics_dev.csv": "9aca9cd215b7c170020fd5f7db1c9c3d5cbf6df9ee7b970a4810649a87245011",
        "global_facts_dev.csv": "8090f53567366b64ee6d23b6f73753421ea6d38780e0e3ca3f856bfa76031c86",
        "high_school_geography_dev.csv": "e43fc27b9fa8b808773a2871007b39e012a1cc1ec902f85d85cc9c27cc12883d",
        "miscellaneous_dev.csv": "72f74676c37fe477720d8b55e84517bd21daf1fe24f99dd33f1b0a636d31782e",
    },
    downloads=(
        PublishedFile(
            "data.tar",
            "https://people.eecs.berkeley.edu/~hendrycks/data.tar",
            166_184_960,
            members=("*_test.csv", "*_dev.csv"),
        ),
    ),
    notes=(
        "the sha256 of six subjects is known, and that of the archive with all; the other 51 need `assay recipe fetch "
        "mmlu`, or --accept-other-source",
    ),
)
