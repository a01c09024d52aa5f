"""`assay recipe`: the original files of well-known benchmarks become task folders."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.flags import option, switch
from assay.cli.output import add_form_arguments
from assay.cli.output import show as show_document
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

if TYPE_CHECKING:
    from assay.recipes.fetch import Planned

EPILOG = """\
examples:
  assay recipe list
  assay recipe show gsm8k                          source, licence, variants, where it departs from the publication
  assay recipe fetch gsm8k                         shows licence, size and URL, then downloads into data/gsm8k
  assay recipe make gsm8k --data data/gsm8k --output tasks/gsm8k
  assay run tasks/gsm8k --model openai:MODEL --limit 100

The benchmark's own files are not part of assay: download them with `fetch`, or by hand. Their sha256 is
checked, and written into the task files and into recipe.json. HF_ENDPOINT names another Hugging Face endpoint.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("act", choices=("list", "show", "fetch", "make"), metavar="list|show|fetch|make")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the benchmark")
    option(parser, "--data PATH", "make: the folder (or file) with the original files")
    option(parser, "--output DIR", "make: the task folder to write (default: tasks/NAME); fetch: data/NAME")
    parser.add_argument("--from", dest="base", metavar="URL", help="fetch: a folder on a server that has the files")
    switch(parser, "--yes", "fetch: do not ask")
    option(parser, "--variant V", "make: one of those that `show` lists (default: the first)")
    option(parser, "--num-fewshot N", "make: few-shot examples per question", int)
    switch(parser, "--accept-other-source", "make: accept files with another or unknown sha256, and record it")
    add_form_arguments(parser, json="as JSON")


def run(options: argparse.Namespace) -> int:
    if options.act == "list":
        list_recipes(options)
        return DONE
    if options.name is None:
        raise UsageError(f"`assay recipe {options.act}` needs a name; `assay recipe list` shows them")
    if options.act == "show":
        show(options.name, as_json=options.json)
    elif options.act == "fetch":
        fetch(options)
    else:
        make(options)
    return DONE


def list_recipes(options: argparse.Namespace) -> None:
    from assay.pages.document import TextTable
    from assay.recipes.recipe import NAMES, find_recipe

    recipes = [find_recipe(name) for name in NAMES]
    if options.json:
        print(
            json.dumps([{"name": recipe.name, "title": recipe.title, "licence": recipe.licence} for recipe in recipes])
        )
        return
    rows = [[recipe.name, recipe.title, ", ".join(recipe.variants), recipe.licence] for recipe in recipes]
    header = ["name", "benchmark", "variants", "licence"]
    prose = ("benchmark", "variants")
    show_document(TextTable(header=header, rows=rows, numeric_from=9, drops=("licence",), prose=prose), options)


def show(name: str, *, as_json: bool) -> None:
    from assay.recipes.recipe import find_recipe

    recipe = find_recipe(name)
    if as_json:
        fields = ("name", "title", "source", "licence", "reference", "variants", "default_shots", "sha256", "notes")
        print(json.dumps({field: getattr(recipe, field) for field in fields}))
        return
    print(f"{recipe.title}\nsource: {recipe.source}\nlicence: {recipe.licence}\nreference: {recipe.reference}")
    print(f"few-shot examples: {recipe.default_shots}" + (" (--num-fewshot N)" if recipe.scales else ""))
    for variant, what in recipe.variants.items():
        print(f"variant {variant}: {what}")
    for note in recipe.notes:
        print(f"note: {note}")
    for file, digest in recipe.sha256.items():
        if digest:
            print(f"sha256 {digest}  {file}")


def fetch(options: argparse.Namespace) -> None:
    """Say what would be fetched, ask, fetch."""
    from assay.recipes import fetch as fetching
    from assay.recipes.recipe import find_recipe

    recipe = find_recipe(options.name)
    folder = Path(options.output or f"data/{recipe.name}")
    files = fetching.plan(recipe, folder, base=_checked(options.base))
    _announce(recipe.title, recipe.licence, files)
    missing = [file for file in files if not file.here]
    if missing and not options.yes:
        _ask(f"Fetch {sum(each.file.size for each in missing) / 1e6:,.1f} MB into {folder}?")
    for item in missing:
        progress = _Bytes(item.file.name, item.file.size)
        names = fetching.fetch(item, folder, on_bytes=progress.received)
        progress.end(f"{folder}: {', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}")
    if options.json:
        print(json.dumps({"folder": str(folder), "fetched": [each.file.name for each in missing]}))
        return
    print(folder)
    print(f"next: assay recipe make {recipe.name} --data {folder}", file=sys.stderr)


def _checked(base: str | None) -> str | None:
    if base is not None and not base.startswith(("http://", "https://")):
        raise UsageError(f"--from is an address that begins with http:// or https://, got `{base}`")
    return base


def _announce(title: str, licence: str, files: list[Planned]) -> None:
    from assay.recipes.fetch import needs

    print(f"{title}; licence: {licence}", file=sys.stderr)
    for file in files:
        hint = f"sha256 {file.sha256}{'' if file.pinned else ', as it was fetched before'}"
        known = hint if file.sha256 else "its sha256 is not pinned: that of the download is recorded"
        here = " (already here)" if file.here else ""
        print(f"  {file.file.name}  {file.file.size / 1e6:,.1f} MB  {file.url}{here}\n    {known}", file=sys.stderr)
    if missing := needs(files):
        print(f"note: {missing}", file=sys.stderr)


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("not a terminal: add --yes to fetch these files")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was fetched")


class _Bytes:
    """How much of a file has come, four times a second on a terminal."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = name, size
        self._come, self._shown = 0, 0.0
        self._terminal = sys.stderr.isatty()

    def received(self, size: int) -> None:
        from time import monotonic

        self._come += size
        if self._terminal and monotonic() - self._shown >= 0.25:
            self._shown = monotonic()
            line = f"\r{self._name}: {self._come / 1e6:,.1f} of {self._size / 1e6:,.1f} MB "
            print(line, end="", file=sys.stderr, flush=True)

    def end(self, sentence: str) -> None:
        if self._terminal:
            from assay.cli.streams import clear_line

            clear_line(sys.stderr)
        print(sentence, file=sys.stderr)


def make(options: argparse.Namespace) -> None:
    from assay.recipes.recipe import find_recipe, write_tasks

    recipe = find_recipe(options.name)
    if options.data is None:
        raise UsageError(f"`assay recipe make {recipe.name}` needs --data PATH: the files of {recipe.source}")
    out = Path(options.output or f"tasks/{recipe.name}")
    counts = write_tasks(
        recipe,
        Path(options.data),
        out,
        variant=options.variant,
        shots=options.num_fewshot,
        accept_unknown=options.accept_other_source,
        say=lambda sentence: print(f"note: {sentence}", file=sys.stderr),
    )
    if options.json:
        print(json.dumps({"folder": str(out), "tasks": counts}))
        return
    for task, count in counts.items():
        print(f"{out / task}.jsonl  {count:,} samples")
    print(f"next: assay check {out} && assay run {out} --model …", file=sys.stderr)
