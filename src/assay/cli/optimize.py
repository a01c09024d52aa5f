"""`assay optimize`: search for a better text, and say honestly what came of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.cli.evaluator_flags import named_model
from assay.cli.optimize_flags import add_arguments
from assay.cli.setting_flags import json_values
from assay.core.errors import UsageError
from assay.overriding import override
from assay.runs.exit_status import DONE, GATE_NOT_MET, INTERRUPTED, WITH_FAILURES
from assay.text.numbers import number

if TYPE_CHECKING:
    from assay.optimize.results import Result
    from assay.optimize.run import SearchProgress


__all__ = ["add_arguments", "run"]


def run(options: argparse.Namespace) -> int:
    from assay.cli.optimize_settings import evaluator_and_settings
    from assay.optimize.folder import SearchFolder
    from assay.optimize.run import NotBegunError, check_proposer, optimize
    from assay.optimize.settings import check_settings, estimated
    from assay.optimize.task_fitness import TaskFitness
    from assay.runs.progress import run_blocking

    evaluator, settings = evaluator_and_settings(options)
    output = _checked_output(options.output, several=bool(settings.component_names or settings.demonstrations))
    if options.dry_run:
        if isinstance(evaluator, TaskFitness):
            run_blocking(evaluator.check())
        check_settings(settings)
        if not options.proposer:
            check_proposer(settings, _proposer(options))
        planned = estimated(settings, settings.sets())
        print(planned.in_words())
        if warning := planned.warning():
            print(f"warning: {warning}", file=sys.stderr)
        return 0
    folder = SearchFolder(
        path=Path(options.run_dir) if options.run_dir else None,
        fresh=options.fresh,
        resume_foreign=options.resume_foreign,
        reuse=tuple(map(Path, options.reuse)),
        branch=Path(options.branch) if options.branch else None,
    )
    try:
        result = optimize(
            settings,
            evaluator,
            _proposer(options),
            folder=folder,
            propose=_own_proposer(options.proposer),
            probe=not options.no_preflight,
            progress=None if options.quiet else _progress_line(),
            listeners=_listeners(options),
        )
    except NotBegunError as error:
        print(f"assay optimize: {error}", file=sys.stderr)
        return WITH_FAILURES
    if output is not None:
        from assay.run_file import write_whole

        texts = {output / f"{name}.txt": text for name, text in result.best_components.items()}
        for path, text in (texts or {output: result.best}).items():
            write_whole(path, text.encode())
    return print_result(result, options)


def _listeners(options: argparse.Namespace) -> list[object]:
    from assay.optimize.events import EventStream
    from assay.runs.listeners import HearsSearches, find_listeners

    listeners: list[object] = list(find_listeners(options.log_to))
    for name, listener in zip(options.log_to, listeners, strict=True):
        if not isinstance(listener, HearsSearches):
            raise UsageError(f"--log-to {name}: can only log runs: it has no method `search_event(event)`")
    return [*listeners, *([EventStream(Path(options.events))] if options.events else [])]


def print_result(result: Result, options: argparse.Namespace) -> int:
    """The result on stdout, where the files are on stderr, and the exit code."""
    from assay.optimize.results import in_words, unified

    diff = "\n".join(unified(result.seed, result.best, "seed", "best")) or "no difference: the best text is the seed"
    if options.json:
        print(msgspec.json.encode(result, enc_hook=repr).decode())
        if options.diff:
            print(diff, file=sys.stderr)
    else:
        print(in_words(result))
        if options.diff:
            print(diff)
    folder = options.run_dir or f"runs/optimize-{result.fingerprint[:8]}"
    print(f"run: {folder}   page: {folder}/page.html", file=sys.stderr)
    if result.problem is not None:
        print(f"assay optimize: {result.problem}", file=sys.stderr)
    if result.stop_reason == "interrupted":
        print("interrupted; rerun the same command to resume", file=sys.stderr)
    return _exit_status(result, options.fail_unless_better)


def _exit_status(result: Result, margin: float | None) -> int:
    if result.stop_reason == "interrupted":
        return INTERRUPTED
    if margin is not None:
        gained = result.testset.difference if result.testset is not None else None
        if not result.better or gained is None or gained < margin:
            by = f" by {margin:g}" if margin else ""
            print(f"gate not met: --fail-unless-better{by}: {result.verdict}", file=sys.stderr)
            return GATE_NOT_MET
    return DONE if result.problem is None and result.stop_reason != "spent" else WITH_FAILURES


def _progress_line() -> SearchProgress:
    from assay.cli.progress import ProgressLine
    from assay.optimize.run import SearchProgress

    class SearchProgressLine(ProgressLine, SearchProgress):
        """Calls, best and last, on stderr: one line that is written over on a terminal, plain lines elsewhere."""

        @override
        def step(self, *, calls: int, budget: int, best: float | None, last: str) -> None:
            shown = "none" if best is None else number(best, 4)
            self.show(f"calls {calls}/{budget}  best {shown}  last: {last}")

    return SearchProgressLine()


def _own_proposer(name: str | None) -> Any:
    from assay.catalog import import_own

    if name is None:
        return None
    function = import_own(name)
    if not callable(function):
        raise UsageError(f"--proposer {name}: is not a function")
    return function


def _proposer(options: argparse.Namespace) -> Any:
    if not options.model:
        return None
    model, _ = named_model(options, options.model, json_values(options.model_arg, "--model-arg"))
    return model


def _checked_output(path: str | None, *, several: bool) -> Path | None:
    from assay.run_file import refuse_unwritable

    if path is None:
        return None
    if several:
        if Path(path).exists() and not Path(path).is_dir():
            raise UsageError(f"--output {path}: is a file; several components are written to a folder, a file each")
        refuse_unwritable(Path(path) / "text.txt")
        return Path(path)
    if Path(path).is_dir():
        raise UsageError(f"--output {path}: is a folder; name a file")
    refuse_unwritable(Path(path))
    return Path(path)
