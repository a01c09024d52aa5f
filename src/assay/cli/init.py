"""`assay init`: a starter project, with task files, a metric and an adapter, or with a dataset, a task and a search."""

from __future__ import annotations

import argparse
import sys

SEARCH = "optimize"
"""The folder of the starter project that is a project of its own."""
FIRST_RUN = "assay run tasks/ --model my_model:MyModel"
FIRST_SEARCH = (
    "assay optimize --task label-tickets.yaml --prompt-at input_builder.input_messages.0.content "
    "--task-model stand_in:answer --model stand_in:propose --keep-placeholders --budget 400 --diff"
)
RENAMED = {"gitignore.txt": ".gitignore"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a new or empty folder")
    parser.add_argument(
        "--optimize", action="store_true", help="a dataset, a task and a search for its prompt, which runs offline"
    )


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import assay
    from assay.core.errors import UsageError
    from assay.runs.exit_status import DONE

    source = Path(assay.__file__).parent / "starter_project"
    other = source / SEARCH
    source = other if options.optimize else source
    target = Path(options.folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: not an empty folder; nothing was written")
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for path in files:
        if not options.optimize and other in path.parents:
            continue
        place = target / path.relative_to(source)
        place = place.with_name(RENAMED.get(place.name, place.name))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
        print(place)
    print(f"\nnext: cd {target} && {FIRST_SEARCH if options.optimize else FIRST_RUN}", file=sys.stderr)
    return DONE
