"""`assay doctor`: show which sandbox layers this machine supports, and how to get the missing ones."""

from __future__ import annotations

import argparse

from assay.cli.flags import switch
from assay.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    switch(parser, "--json", "the rows as JSON")
    parser.epilog = """\
examples:
  assay doctor          each layer, whether it works here, and what is missing
  assay doctor --json   the same for scripts

Exit code 0 if model-written code can run in a sandbox here, 1 if it would be refused.
"""


def run(args: argparse.Namespace) -> int:
    """0 when code_exec runs here as it is, 1 when it would be refused."""
    from assay.sandbox.doctor import doctor

    rows = doctor()
    if args.json:
        print_json(rows, indent=2)
    else:
        width = max(len(row.layer) for row in rows)
        for row in rows:
            print(f"{'ok     ' if row.present else 'MISSING'}  {row.layer:<{width}}  {row.detail}")
            print(f"{'':<{width + 9}}  gives: {row.gives}")
            if row.remedy:
                print(f"{'':<{width + 9}}  to get it: {row.remedy}")
    return 0 if rows[-1].present else 1
