"""`assay view`: a local web page over run folders, or a static copy of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.flags import option, switch
from assay.cli.run_names import run_named
from assay.core.errors import UsageError
from assay.runs.exit_status import DONE

EPILOG = """\
examples:
  assay view                      every run below runs/, including new ones
  assay view runs/my-run          one run
  assay view logs/*.eval          Inspect logs
  assay view --export site runs/  a folder of plain files that any browser can open, without a server

The page is served to this machine only. The printed link works in one browser; opened a second time
elsewhere, it is refused and a new one is printed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "runs", nargs="*", metavar="RUNS", help="run folders, folders of them, or Inspect logs (default: runs)"
    )
    option(parser, "--port N", "port to listen on (default: the first free from 8750)", int)
    switch(parser, "--no-browser", "only print the link")
    option(parser, "--export DIR", "write a static site instead of serving one")
    option(parser, "--export-samples N", "samples per run, at most (default 20000)", int, 20_000)


def run(options: argparse.Namespace) -> int:
    roots = [Path(run_named(name)) for name in options.runs or ["runs"]]
    if options.export is not None:
        export(roots, Path(options.export), options.export_samples)
    else:
        serve(roots, options)
    return DONE


def serve(roots: list[Path], options: argparse.Namespace) -> None:
    try:
        from assay.viewer.serve import serve as serve_runs
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(f"the viewer needs {error.name}: pip install 'assay-eval[viewer]'") from error
    serve_runs(roots, port=options.port, browser=not options.no_browser, awaited=not options.runs)


def export(roots: list[Path], folder: Path, samples: int) -> None:
    from assay.viewer.export import export_site

    page = export_site(roots, folder, samples)
    print(page)
    print("open this file in a browser, or put the folder on any web server", file=sys.stderr)
