"""The `assay` command: finds the subcommand, reads its flags, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

from assay import processes
from assay.cli import garbage, interrupts, memory, streams
from assay.cli.flags import refuse_unmet_needs, switch
from assay.cli.help_text import HelpFormatter
from assay.cli.parser import Parser
from assay.core.errors import AssayError, UsageError
from assay.entry_points import entry_points_of, packages_with
from assay.overriding import override
from assay.runs.exit_status import BAD_INPUT, CLOSED_PIPE, DONE, INTERRUPTED

INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: neither a gate nor bad input."""
DEBUG = "ASSAY_DEBUG"

SUBCOMMANDS = {
    "run": "run tasks against a model and write the leaderboard",
    "validate": "check task files, line by line, without running anything",
    "trust": "list what a file from elsewhere would run and connect to, and trust it",
    "check": "test tasks without a model: gold answers must get full marks, empty ones none",
    "list": "list the available tasks, metrics, scorers, models, …",
    "show": "show one task, metric or run in full",
    "plan": "before a run: how many samples find a difference, and what they cost",
    "leaderboard": "rank many models on many tasks",
    "diff": "compare two runs or leaderboards, sample by sample",
    "history": "show runs of the same tasks over time, and where the score first dropped",
    "agreement": "compare the judges of a run with people who labelled its answers",
    "lock": "write and compare the versions of a project's datasets",
    "merge": "combine the shards of a run and write its leaderboard",
    "rescore": "score the answers of a run again, without calling the model",
    "report": "write one or more runs as a single HTML file",
    "export": "export attempts or tasks of runs as a table: CSV, JSON lines or Parquet",
    "view": "browse runs and samples in a local web page, or export it as a static site",
    "verify": "check that a run is intact and used these task files",
    "repair": "set damaged lines of a run's journal aside, so that the run can be completed",
    "score": "score one text with an evaluator: a command, a service or judge models",
    "schema": "print the JSON Schema of YAML files, for your editor, or of leaderboards",
    "doctor": "show which sandbox layers this machine supports",
    "model": "fetch, describe, serve or remove the embedded model",
    "optimize": "search for a better prompt or other text, scored by an evaluator or by tasks",
    "recipe": "turn the original files of well-known benchmarks into task folders",
    "import": "convert tasks of other programs into task folders",
    "init": "write a starter project",
    "completion": "print a completion script for bash, zsh or fish",
}

EPILOG = """\
first steps:
  assay run                                    the starter tasks with the toy model
  assay init my-evals && cd my-evals           a new project; --yaml for YAML tasks
  assay run tasks/ --model openai:MODEL        your tasks against a server
  assay run tasks/ --model my_module:my_model  … or against your own Python

exit codes:
  0    done
  1    a gate was not met, or cannot tell
  2    bad input
  3    finished with failures, or a task has no score
  70   a bug in assay; ASSAY_DEBUG=1 shows where an error came from
  130  interrupted
  141  the reader of an export closed the pipe
"""


class CommandsFormatter(HelpFormatter):
    """Leaves room for the indent of commands, which argparse forgets: the longest names had a line of their own."""

    @override
    def format_help(self) -> str:
        self._action_max_length += self._indent_increment
        return super().format_help()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    if argv is None:
        processes.is_command = True
        garbage.look_seldom()
        interrupts.end_at_once()
        memory.look_for_room()
        streams.make_usable()
        return _main(sys.argv[1:])
    with streams.only_printable():
        return _main(list(argv))


def _main(arguments: list[str]) -> int:
    parser = Parser(
        prog="assay",
        description="Measure language models, prompts and datasets.",
        epilog=EPILOG,
        formatter_class=CommandsFormatter,
    )
    switch(parser, "--version", "print the version and exit")
    subcommands = parser.add_subparsers(dest="subcommand", metavar="COMMAND", title="commands")
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    # packages are searched only where their commands are listed, or one of them may be meant
    installed = {} if wanted in SUBCOMMANDS else installed_commands()
    for subcommand, summary in {**SUBCOMMANDS, **installed}.items():
        described = subcommands.add_parser(subcommand, help=summary, description=summary, formatter_class=HelpFormatter)
        if subcommand == wanted:
            try:
                command_called(subcommand).add_arguments(described)
            except Exception as error:
                return _failed(subcommand, error)
            if "--num-fewshot" in described.format_usage():  # it takes tasks
                from assay.cli.source_flags import add_source_flags

                add_source_flags(described, arguments[1:])
            if subcommand == arguments[0]:
                # files may stand before, between and after flags; argparse can do that only without a subcommand
                return _run_subcommand(
                    described.parse_intermixed_args(arguments[1:], argparse.Namespace(subcommand=subcommand))
                )
    options = parser.parse_args(arguments)
    if options.version:
        from assay.catalog import own_version

        print(f"assay {own_version()}")
        return DONE
    if options.subcommand is None:
        return _without_subcommand(parser)
    return _run_subcommand(options)


def _project_of(options: argparse.Namespace) -> AbstractContextManager[None]:
    """The project file that the command names is in force while it runs."""
    if (named := vars(options).get("project")) is None:
        return nullcontext()
    from assay.formats.project import discovery

    return discovery.using(Path(named))


def _without_subcommand(parser: Parser) -> int:
    """The help, or in a project what there is and what to do next."""
    from assay.formats.project.discovery import project_file

    try:
        if project_file() is not None:
            from assay.cli.status import print_status

            return print_status()
    except Exception as error:
        return _failed("", error)
    parser.print_help()
    return DONE


def _run_subcommand(options: argparse.Namespace) -> int:
    command = command_called(options.subcommand)
    try:
        refuse_unmet_needs(options)
        if options.subcommand != "run":  # which catches signals itself once it has begun
            interrupts.raise_from_now_on()
        with _project_of(options):
            code: int = command.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"assay {options.subcommand}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader closed our output while bytes were written to it, as an export does: nothing says it is done
        streams.give_up_stdout()
        return CLOSED_PIPE
    except Exception as error:
        return _failed(options.subcommand, error)
    return code


def _failed(subcommand: str, error: Exception) -> int:
    """Print what went wrong; the exit code for it."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    code, sentence = _exit_code_and_message(error, subcommand)
    print(f"assay{' ' if subcommand else ''}{subcommand}: {sentence}", file=sys.stderr)
    return code


def _exit_code_and_message(error: Exception, subcommand: str) -> tuple[int, str]:
    """The exit code of an error, and a sentence about it. Nothing that broke looks like a gate that was not met."""
    from assay.text import os_errors
    from assay.text.printable import one_line

    if isinstance(error, AssayError):
        return BAD_INPUT, str(error)
    if memory.ran_out(error):
        return BAD_INPUT, f"{memory.SENTENCE}; {DEBUG}=1 shows where"
    if isinstance(error, OSError):
        return BAD_INPUT, os_errors.sentence(error)
    if isinstance(error, RecursionError):
        return BAD_INPUT, f"something in the input is nested too deeply to be read; {DEBUG}=1 shows where"
    if subcommand not in SUBCOMMANDS:
        where = installed_commands()[subcommand]
        return INTERNAL_ERROR, f"{type(error).__name__}: {one_line(str(error))} ({where}; {DEBUG}=1 shows where)"
    return INTERNAL_ERROR, (
        f"internal error: {type(error).__name__}: {one_line(str(error))}. This is a bug in assay: please report it "
        f"with what {DEBUG}=1 shows"
    )


class Command(Protocol):
    """What each subcommand is: a module of ours, or what an installed package publishes as `assay.commands`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


def command_called(subcommand: str) -> Command:
    """The module of a subcommand, or the object that a class of an installed package makes."""
    if subcommand in SUBCOMMANDS:
        module: Any = importlib.import_module(f"assay.cli.{module_of(subcommand)}")
        return cast(Command, module)
    from assay import catalog

    packages = packages_with("command", subcommand)
    if len(packages) > 1:
        raise UsageError(f"the command `{subcommand}` is published by {' and '.join(packages)}: uninstall one")
    command: Command = catalog.resolve("command", subcommand)()
    return command


def installed_commands() -> dict[str, str]:
    """The commands that installed packages add, each with the package; none has the name of one of ours."""
    names = sorted(entry_points_of("command").keys() - SUBCOMMANDS.keys())
    return {name: f"a command of {' and '.join(packages_with('command', name))}" for name in names}


def module_of(subcommand: str) -> str:
    # `list` and the like would shadow builtins as module names
    return {"list": "list_names", "import": "import_tasks"}.get(subcommand, subcommand)
