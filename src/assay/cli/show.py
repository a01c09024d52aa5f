"""`assay show`: one thing in full: a task set, a metric or other named part, or a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.core.types import Request, Sample, TaskDefinition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from assay.cli.run_flags import add_allow_outside, add_task_parameters
    from assay.cli.view_flags import add_view_arguments

    parser.epilog = (
        "examples:\n"
        "  assay show tasks/arithmetic.jsonl      the task as data, and how its first sample is asked\n"
        "  assay show rouge_l                     what a metric measures and when it misleads\n"
        "  assay show my_metric:starts_politely   the same of your own Python, which is read and not run\n"
        "  assay show runs/toy-starter-1a2b3c4d   how a run stands, its tables, and what failed or scored lowest\n"
        "  assay show runs/toy-starter-1a2b3c4d --sample arith-03    one sample of it in full"
    )
    parser.add_argument(
        "what", metavar="WHAT", help="a task file or folder, a catalog name, `module:object`, or a run folder"
    )
    parser.add_argument(
        "--samples", type=int, metavar="N", help="how many samples to show (default 1; of a run, the 3 worst)"
    )
    parser.add_argument("--sample", metavar="ID", help="every attempt of a run at this one sample, in full")
    add_task_parameters(parser)
    add_allow_outside(parser)
    parser.add_argument("--json", action="store_true", help="as JSON; of a run, what it was made of")
    add_view_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from assay import catalog
    from assay.cli.main import DONE
    from assay.cli.show_run import show_run

    path = Path(options.what)
    kinds = [kind for kind in catalog.CATALOG if options.what in catalog.CATALOG[kind]]
    if (path / "run.json").exists():
        show_run(path, options)
    elif kinds and not path.exists():
        for kind in kinds:
            show_part(kind, catalog.CATALOG[kind][options.what], options)
    elif ":" in options.what and not path.exists():
        show_own(options)
    else:
        if not path.exists() and path.suffix == "" and "/" not in options.what:
            refuse_unknown(options.what)
        show_tasks(options)
    return DONE


def refuse_unknown(what: str) -> None:
    """A word that is no path, part or task set, with the nearest that is."""
    from pathlib import Path

    from assay import catalog
    from assay.core.errors import UsageError
    from assay.tasks.load import BUILT_IN

    known = {*BUILT_IN, *(name for kind in catalog.CATALOG for name in catalog.names(kind))}
    near = catalog.unknown_name("name", what, known | {each.name for each in Path().iterdir()})
    if what not in known:
        raise UsageError(f"{near.partition(' Known:')[0]}{'' if 'mean' in near else ' `assay list` tells all of them'}")


def show_part(kind: str, target: str, options: argparse.Namespace) -> None:
    """What the docstring of a part says, and where the part lies (`module:object`)."""
    import inspect

    from assay import catalog

    _show_doc(kind, target, inspect.getdoc(catalog.import_object(target)) or "", options)


def show_own(options: argparse.Namespace) -> None:
    """The same of the user's own Python, out of its source: showing a thing does not run it."""
    from assay.cli.source_docs import docstring_of

    _show_doc("your own", options.what, docstring_of(options.what), options)


def _show_doc(kind: str, target: str, text: str, options: argparse.Namespace) -> None:
    import msgspec

    if options.json:
        print(msgspec.json.encode({"kind": kind, "name": options.what, "object": target, "doc": text}).decode())
        return
    print(f"{kind} {options.what}   ({target})\n\n{text}")


def show_tasks(options: argparse.Namespace) -> None:
    from itertools import islice

    import msgspec

    from assay.cli.run_flags import task_parameters
    from assay.tasks.build import build_dataset
    from assay.tasks.load import load_tasks

    for definition in load_tasks([options.what], allow_bad=True, only_reads=True, **task_parameters(options)):
        # samples that lie on a server are not fetched to be shown
        dataset = () if definition.dataset.use == "hub" else build_dataset(definition)
        samples = list(islice(dataset, 1 if options.samples is None else options.samples))
        shown = {"definition": definition, "samples": samples}
        if options.json:
            print(msgspec.json.encode(shown).decode())
            continue
        print(msgspec.json.format(msgspec.json.encode(definition), indent=2).decode())
        for sample in samples:
            if sample.row is not None:
                print(f"\nsample {sample.id}, its row:\n{msgspec.json.encode(sample.row).decode()}")
                print(_asked(definition, sample))
            else:
                print(f"\nsample {sample.id}, as it is asked:\n{sample.prompt}\ntargets: {list(sample.targets)}\n")


def _asked(definition: TaskDefinition, sample: Sample) -> str:
    """What a single-turn solver would ask; conversations and Python decide while they run."""
    from assay.core.errors import FailureError
    from assay.tasks.build import build_solver

    request_for = getattr(build_solver(definition), "request", None)
    if request_for is None:
        return ""
    try:
        request: Request = request_for(sample)
    except FailureError as error:
        return f"cannot be asked: {error}"
    said = [f"{message.role}: {message.content}" for message in request.messages or ()]
    return "as it is asked:\n" + ("\n".join(said) or str(request.prompt)) + "\n"
