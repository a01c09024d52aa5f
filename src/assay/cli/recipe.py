"""`assay recipe`: the original files of well-known benchmarks become task folders."""

from __future__ import annotations

import argparse
import sys

from assay.core.errors import UsageError

EPILOG = """\
examples:
  assay recipe list
  assay recipe show gsm8k                          source, licence, variants, where it departs from the publication
  assay recipe make gsm8k --data grade_school_math/data --out tasks/gsm8k
  assay run tasks/gsm8k --model openai:MODEL --limit 100

The benchmark's own files are not part of assay: fetch them from their source, which `show` names. Their sha256 is
checked, and written into the task files and into recipe.json beside them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.output import add_form_arguments

    parser.epilog = EPILOG
    parser.add_argument("act", choices=("list", "show", "make"), metavar="list|show|make")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the benchmark")
    parser.add_argument("--data", metavar="PATH", help="make: the folder (or file) with the original files")
    parser.add_argument("--out", metavar="DIR", help="make: the task folder to write (default: tasks/NAME)")
    parser.add_argument("--variant", metavar="V", help="make: one of those that `show` lists (default: the first)")
    parser.add_argument("--shots", type=int, metavar="N", help="make: worked examples before each question")
    parser.add_argument(
        "--accept-other-source",
        action="store_true",
        help="make: take files of another or unknown sha256, and record it",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_form_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from assay.runs.exit_status import DONE

    if options.act == "list":
        list_recipes(options)
        return DONE
    if options.name is None:
        raise UsageError(f"`assay recipe {options.act}` needs a name; `assay recipe list` tells them")
    if options.act == "show":
        show(options.name, as_json=options.json)
    else:
        make(options)
    return DONE


def list_recipes(options: argparse.Namespace) -> None:
    import json

    from assay.cli.output import show as show_document
    from assay.recipes.recipe import NAMES, find_recipe
    from assay.reports.document import TextTable

    recipes = [find_recipe(name) for name in NAMES]
    if options.json:
        print(json.dumps([{"name": each.name, "title": each.title, "licence": each.licence} for each in recipes]))
        return
    rows = [[each.name, each.title, ", ".join(each.variants), each.licence] for each in recipes]
    header = ["name", "benchmark", "variants", "licence"]
    prose = ("benchmark", "variants")
    show_document(TextTable(header=header, rows=rows, numeric_from=9, drops=("licence",), prose=prose), options)


def show(name: str, *, as_json: bool) -> None:
    import json

    from assay.recipes.recipe import find_recipe

    recipe = find_recipe(name)
    if as_json:
        fields = ("name", "title", "source", "licence", "reference", "variants", "default_shots", "sha256", "notes")
        print(json.dumps({field: getattr(recipe, field) for field in fields}))
        return
    print(f"{recipe.title}\nsource: {recipe.source}\nlicence: {recipe.licence}\nreference: {recipe.reference}")
    print(f"worked examples: {recipe.default_shots}" + (" (--shots N)" if recipe.scales else ""))
    for variant, what in recipe.variants.items():
        print(f"variant {variant}: {what}")
    for note in recipe.notes:
        print(f"note: {note}")
    for file, digest in recipe.sha256.items():
        if digest:
            print(f"sha256 {digest}  {file}")


def make(options: argparse.Namespace) -> None:
    import json
    from pathlib import Path

    from assay.recipes.recipe import find_recipe, write_tasks

    recipe = find_recipe(options.name)
    if options.data is None:
        raise UsageError(f"`assay recipe make {recipe.name}` needs --data PATH: the files of {recipe.source}")
    out = Path(options.out or f"tasks/{recipe.name}")
    counts = write_tasks(
        recipe,
        Path(options.data),
        out,
        variant=options.variant,
        shots=options.shots,
        accept_unknown=options.accept_other_source,
        say=lambda sentence: print(f"note: {sentence}", file=sys.stderr),
    )
    if options.json:
        print(json.dumps({"folder": str(out), "tasks": counts}))
        return
    for task, count in counts.items():
        print(f"{out / task}.jsonl  {count:,} samples")
    print(f"next: assay check {out} && assay run {out} --model …", file=sys.stderr)
