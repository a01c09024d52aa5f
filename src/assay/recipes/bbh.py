"""BIG-Bench Hard: tasks that language models found hard; one task per file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import UsageError
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

THINK = "Let's think step by step."


class Exemplars(NamedTuple):
    """The text before each question, and the index of the first example that is used as a question."""

    text: str
    published: bool
    first_question: int = 0


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    names = sources.names("*.json")
    # the repository also holds the answers of other models; the folder `bbh` takes precedence
    tasks = [name for name in names if Path(name).parent.name == "bbh"] or names
    for name in tasks:
        stem = Path(name).stem
        yield f"bbh-{stem.replace('_', '-')}", _rows(sources, settings, name, stem)


def _rows(sources: Sources, settings: RecipeSettings, name: str, stem: str) -> Iterator[Row]:
    examples = json.loads(sources.read(name))["examples"]
    exemplars = _exemplars(sources, settings, stem, examples)
    think = f" {THINK}" if exemplars.published and settings.variant == "cot" else ""
    for number, example in enumerate(examples[exemplars.first_question :], start=exemplars.first_question):
        yield {
            "id": f"{stem}-{number:03}",
            "prompt": f"{exemplars.text}Q: {example['input']}\nA:{think}",
            "targets": [example["target"]],
            "metric": "exact_match",
            "post_process": "extract_stated_answer",
            "extras": {"generation": {"stop": ["\nQ:"], "max_tokens": 1024 if settings.variant == "cot" else 256}},
            "metadata": {
                "task": stem,
                "exemplars": "published" if exemplars.published else "first questions",
                "source_sha256": sources.sha256(name),
            },
        }


def _exemplars(sources: Sources, settings: RecipeSettings, stem: str, examples: list[dict[str, str]]) -> Exemplars:
    """The published ones if their file is present, else the first questions of the task, which are then left out."""
    file = sources.find(f"cot-prompts/{stem}.txt", required=False)
    if file is not None:
        description, worked = parse_exemplars(sources.read(file).decode("utf-8"), file)
        shown = [f"Q: {question}\nA: {_worked(settings, answer)}" for question, answer in worked[: settings.shots]]
        return Exemplars("\n\n".join(filter(None, [description, *shown])) + "\n\n", published=True)
    sources.remark(
        "no cot-prompts/ next to bbh/: the first questions of each task replace the published few-shot examples, "
        "without reasoning, and are not part of the task"
    )
    shown = [f"Q: {each['input']}\nA: {_stated(settings, each['target'])}\n\n" for each in examples[: settings.shots]]
    return Exemplars("".join(shown), published=False, first_question=len(shown))


def parse_exemplars(text: str, name: str = "the file") -> tuple[str, list[tuple[str, str]]]:
    """The description of the task, and each exemplar's question and worked answer.

    The file is a warning to crawlers, a line of dashes, the description, and then `Q:` and `A:` in turn, each `Q:` at
    the beginning of a line.
    """
    body = re.split(r"(?m)^-{3,}[ \t]*$", text, maxsplit=1)[-1]
    description, *blocks = re.split(r"(?m)^Q:[ \t]*", body)
    exemplars = [tuple(part.strip() for part in re.split(r"(?m)^A:[ \t]*", block, maxsplit=1)) for block in blocks]
    if not exemplars or any(len(each) != 2 for each in exemplars):
        raise UsageError(f"{name}: not in the form of the published exemplars (a description, then `Q:` and `A:`)")
    return description.strip(), [(each[0], each[1]) for each in exemplars]


def _worked(settings: RecipeSettings, answer: str) -> str:
    """The published reasoning, or only its final answer."""
    if settings.variant == "cot":
        return answer
    return answer.rpartition("the answer is ")[2].removesuffix(".")


def _stated(settings: RecipeSettings, target: str) -> str:
    return f"So the answer is {target}." if settings.variant == "cot" else target


RECIPE = Recipe(
    name="bbh",
    title="BIG-Bench Hard",
    source="suzgunmirac/BIG-Bench-Hard, bbh/*.json (27 files, 23 tasks) and cot-prompts/*.txt",
    licence="MIT",
    reference="Suzgun et al. 2022, Challenging BIG-Bench Tasks and Whether Chain-of-Thought Can Solve Them",
    variants={
        "cot": "the three published exemplars with their reasoning; what stands after `the answer is` is compared",
        "direct": "the same exemplars with their answers alone; the answer alone is compared",
    },
    default_shots=3,
    make=_make,
    sha256={
        "boolean_expressions.json": "ea6c754ec005e2d3f2d085d349a740f593b5764f32ea4638ffed4cfc0061b12a",
        "causal_judgement.json": "6e8bca44dd402008ed41c07a3d0a1d5e7b03db7001a7e002fcdf4c60985ea081",
        "date_understanding.json": "0148d4ac5fca05b2f82373e5fef7208e15363b9c6079493034d77b3dab496bf5",
        "disambiguation_qa.json": "cf06df9ebf911b883671cb1b35d3fbd1a1c306b19b9e9a012407e596c85fe8c6",
        "dyck_languages.json": "3f9badedf15c2be1ce53d94fdf016299bb30ba231ef087ab9f51a7ed6d0bdc25",
        "formal_fallacies.json": "4c1adb664821157faade1d4153685403afcc02648f3c180a608a18f17f589629",
        "geometric_shapes.json": "07be68a124420caa2ebc0b2c858ad79fc55c5c8806170e496e1e17ebfb11f31c",
        "hyperbaton.json": "b6d7f55c75f5d02f2987a4f3123802dfa093872089a56a334144aae8a7264fdc",
        "logical_deduction_five_objects.json": "d2df31394b903b7f0e085d42a69572a092987856eac076799017d70ef266fa8f",
        "logical_deduction_seven_objects.json": "2896c7e3482eea318dd37bcc370d24ec3cc91e8374c1784287b5dbd38a529e33",
        "logical_deduction_three_objects.json": "e590fae72e3a6041fbd23bd8ff6b74baf44ca563f6ba40a041c55e7b867c1681",
        "movie_recommendation.json": "a8b53a87ee21a865b7248e694f388a9b8f7cf6b839b11d44796a2dd3fc088983",
        "multistep_arithmetic_two.json": "c9d5a6433c9b78256422a15c78463949c8bec8d85607aa28b52d7234ad4a8595",
        "navigate.json": "b7944dfd3c81da5c4815bd75b00d6fa3c64140823498e78ed496f4c3d36f7f0d",
        "object_counting.json": "8acef14dbbdd40d2326ef7755750b6b5fe919fef06276af1bab3f1c297f022ff",
        "penguins_in_a_table.json": "bb87ee449698eee51215e025a453b1bcb2f5e6589c2063b2c79e68b8f0655228",
        "reasoning_about_colored_objects.json": "0a8850cf95166020fce7a78244026ceedd7ea839302471512b4f8744e85a6a49",
        "ruin_names.json": "b6f723aef2bafdd4c7bfc3c7e0329c7e8a8279391a609969c8ed76c9319f5f7f",
        "salient_translation_error_detection.json": "becf3eb8dd53c821a555ecd5c1334ecd93eb25f980e63be963c518e7138de5da",
        "snarks.json": "54a0661fe2de06167645a4965e6bcf963c4ba307e76262a7c750998b0e3d0d0e",
        "sports_understanding.json": "63ca262858f6176864515cd8cf53cdaa40839ebecc155b726d77930855d167bf",
        "temporal_sequences.json": "92a1189faaa84aacc4c405aaa13f13f48c2992eb884772eedb622505252baef5",
        "tracking_shuffled_objects_five_objects.json": (
            "2063a46a4fb484236ed4310523606543a3e1dd4a4dc34eda65d407910ece25a5"
        ),
        "tracking_shuffled_objects_seven_objects.json": (
            "b59fd05b850c37cf57cb514ae1e6975c00b1638ade2291722056b2af3c54084d"
        ),
        "tracking_shuffled_objects_three_objects.json": (
            "546cc7bf10c6a01a6a4c17ae28a4966485f21f29fd5d111f37858ec78e354f6b"
        ),
        "web_of_lies.json": "3e60323f8514a107fdb4edf35f8832a9171c5a09c0eaa47823559de905e8ab8b",
        "word_sorting.json": "2a6132d2c99f00d0d2eb1113ac6b4a918bd969d863c48749210d969713db8d43",
    },
    downloads=(
        PublishedFile(
            "BIG-Bench-Hard-main.zip",
            "https://github.com/suzgunmirac/BIG-Bench-Hard/archive/refs/heads/main.zip",
            4_000_000,
            members=("*.json", "*.txt"),
        ),
    ),
    notes=(
        "without cot-prompts/ the first questions of a task are shown, with answers and no reasoning, and not asked",
        "the sha256 of the files in cot-prompts/ is not known here: they need --accept-other-source, and are recorded",
    ),
)
