"""How many promptfoo configurations below a folder are read whole, and why the others are refused.

`python -m bench promptfoo_census --path FOLDER`: the examples of promptfoo's own repository, say. Whole is a file
whose prompts, tests and assertions are all read; beside it stands how many of these also name only models that assay
has. Programs that make tests and variables run only with `--trust`.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
from pathlib import Path

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.core.errors import UsageError
from assay.formats.declarative.yaml_reader import PLACED_SENTENCE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", required=True, help="the folder")
    parser.add_argument("--trust", action="store_true", help="run the programs that make tests and variables")
    options = parser.parse_args()
    files = sorted(Path(options.path).rglob("promptfooconfig*.yaml"))
    if not files:
        sys.exit(f"{options.path}: holds no promptfooconfig*.yaml")
    whole = with_models = 0
    refusals: collections.Counter[str] = collections.Counter()
    providers: collections.Counter[str] = collections.Counter()
    for path in files:
        try:
            tasks = read_promptfoo(path, trust=options.trust)
        except UsageError as error:
            refusals.update({_reason(line) for line in str(error).splitlines()})
            continue
        missing = {
            str(each.metadata[key]) for each in tasks for key in ("no_model", "no_grader") if key in each.metadata
        }
        whole += 1
        with_models += not missing
        providers.update({_reason(each).partition(";")[0] for each in missing})
    print("| configurations | read whole | also every model |\n| ---: | ---: | ---: |")
    print(f"| {len(files)} | {whole} | {with_models} |\n")
    for title, counted in (("refused because", refusals), ("read, but for a model", providers)):
        print(f"| {title} | configurations |\n| --- | ---: |")
        for reason, count in counted.most_common():
            print(f"| {reason.replace('|', '∣')} | {count} |")
        print()


def _reason(sentence: str) -> str:
    """A refusal without its place and without the names of files and models."""
    placed = PLACED_SENTENCE.match(sentence)
    text = placed[3] if placed else sentence
    text = re.sub(r"^[\w\[\].$: -]*?: (?=provider )", "", text)
    return re.sub(r"`(?:file://|/)[^`]*`", "`FILE`", re.sub(r"provider `[^`]*`", "provider", text))[:140]


if __name__ == "__main__":
    main()
