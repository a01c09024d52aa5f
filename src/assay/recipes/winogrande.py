"""WinoGrande: which of two names a blank stands for; how likely the rest of the sentence is after each."""

from __future__ import annotations

from collections.abc import Iterator

from assay.recipes.choices import letter_at
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("dev.jsonl") or ""
    before = _examples(sources, settings)
    for record in sources.lines(name):
        start, blank, rest = record["sentence"].partition("_")
        if not blank or not rest.strip():
            raise ValueError(f"{record['sentence']!r} has no blank `_` with words behind it")
        options = [record["option1"], record["option2"]]
        yield {
            "id": record["qID"],
            "prompt": before + record["sentence"],
            "targets": [letter_at(int(record["answer"]) - 1, options)],
            "metric": "choice_likelihood",
            "extras": {
                "choices": options,
                "contexts": [before + start + option for option in options],
                "continuation": rest.strip(),
            },
            "metadata": {"source_sha256": sources.sha256(name)},
        }


def _examples(sources: Sources, settings: RecipeSettings) -> str:
    shown = sources.examples(settings.shots, "train_xl.jsonl")
    filled = [each["sentence"].replace("_", each[f"option{each['answer']}"], 1) for each in shown]
    return "".join(f"{sentence}\n\n" for sentence in filled)


RECIPE = Recipe(
    name="winogrande",
    title="WinoGrande",
    source="allenai/winogrande 1.1, dev.jsonl (1,267 sentences; the test labels are not public), train_xl.jsonl",
    licence="CC-BY",
    reference="Sakaguchi et al. 2020, WinoGrande: An Adversarial Winograd Schema Challenge at Scale",
    variants={"likelihood": "how likely the rest of the sentence is after each option; the likelier option is taken"},
    default_shots=5,
    make=one_task("winogrande", _rows),
    sha256={"winogrande_1.1.zip": "3619ab104d8be2977b25c90ff420cb42d491707dcc75362a1e5d22bc082b7318"},
    downloads=(
        PublishedFile(
            "winogrande_1.1.zip",
            "https://storage.googleapis.com/ai2-mosaic/public/winogrande/winogrande_1.1.zip",
            3_395_492,
            members=("dev.jsonl", "train_xl.jsonl"),
        ),
    ),
    notes=(
        "the sha256 of the archive is known, those of its files are not: they need `assay recipe fetch`, or "
        "--accept-other-source",
        "scored on the rest of the sentence (partial evaluation, Trinh and Le 2018), as the field reports it",
    ),
)
