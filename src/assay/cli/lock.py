"""`assay lock`: writes which version of each dataset a project measures, and compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.flags import option, switch
from assay.core.errors import UsageError
from assay.runs.exit_status import BAD_INPUT, DONE
from assay.text.wording import count_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  assay lock            add the datasets that assay.lock lacks, at what they hold now
  assay lock gsm8k      move one dataset to what it holds now
  assay lock --check    compare, and write nothing

A run of the project refuses rows that are not those of assay.lock. `assay run --locked`, the rule where the variable
CI is set, also refuses a dataset that it lacks.

Exit code 0 if the lock is up to date or was written, 2 if --check finds a difference or a dataset moved.
"""
    parser.add_argument("names", nargs="*", metavar="NAME", help="datasets to move to what they hold now")
    switch(parser, "--check", "compare, and write nothing")
    option(parser, "--env FILE", "file with $NAMEs of task files, in addition to the environment (default: .env)")


def run(options: argparse.Namespace) -> int:
    from assay.formats.project.dataset_lock import (
        datasets_now,
        differences,
        lock_path,
        moved,
        read_lock,
        with_added,
        write_lock,
    )
    from assay.reading import env_file
    from assay.tasks.load import load_tasks

    path = lock_path()
    if path is None:
        raise UsageError("there is no project here: `assay lock` writes next to its assay.yaml")
    if options.check and options.names:
        raise UsageError("--check compares all datasets; leave out the names")
    env_file.choose(Path(options.env) if options.env else None)
    definitions = load_tasks([str(path.parent)], models_needed=False, may_call_models=False)
    now, locked = datasets_now(definitions, path.parent), read_lock(path)
    found = differences(locked, now, path)
    if options.check:
        for each in found:
            print(each.sentence, file=sys.stderr)
        unused = sorted({*locked} - {*now})
        total = sum(map(len, now.values()))
        print(f"{path}: {total - len(found):,} of {count_of(total, 'dataset')} as locked", file=sys.stderr)
        if unused:
            print(f"no task names {', '.join(f'`{name}`' for name in unused)}", file=sys.stderr)
        return BAD_INPUT if found else DONE
    named = moved(locked, now, options.names)
    refused = [each.sentence for each in found if not each.missing and each.name not in named]
    if refused and not named:
        raise UsageError("\n".join(refused))
    added = dict.fromkeys(each.name for each in found if each.missing)
    others = [name for name, blocks in named.items() if blocks != locked.get(name) and name not in added]
    written = {**with_added(locked, {name: now[name] for name in added}), **named}
    write_lock(path, written)
    words = [f"{verb} {', '.join(names)}" for verb, names in (("added", added), ("moved", others)) if names]
    number = count_of(sum(map(len, written.values())), "dataset")
    print(f"{path}: {'; '.join(words) or 'up to date'} ({number})", file=sys.stderr)
    return DONE
