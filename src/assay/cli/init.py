"""`assay init`: a starter project with commented task files, a metric and an adapter."""

from __future__ import annotations

import argparse
import sys

RENAMED = {"gitignore.txt": ".gitignore"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a new or empty folder")


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    import assay
    from assay.cli.main import DONE
    from assay.core.errors import UsageError

    source = Path(assay.__file__).parent / "starter_project"
    target = Path(options.folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: not an empty folder; nothing was written")
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for path in files:
        place = target / path.relative_to(source)
        place = place.with_name(RENAMED.get(place.name, place.name))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
        print(place)
    print(f"\nnext: cd {target} && assay run tasks/ --model my_model:MyModel", file=sys.stderr)
    return DONE
