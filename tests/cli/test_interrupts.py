"""Ctrl-C that comes early, or where Python would drop it, ends a command all the same."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

BEFORE = """
import signal, sys, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
from assay.cli import list_names, run
from assay.cli.main import main

class Thing: ...

def in_a_callback(*given):
    thing = Thing()
    there = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))  # as imports have them
    del thing
    return 0

def right_here(*given):
    signal.raise_signal(signal.SIGINT)

sys.argv = ["assay", "list"]
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{BEFORE}\n{program}\nsys.exit(main())"], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "program",
    ["list_names.add_arguments = right_here", "sys.argv[1] = 'run'; run.run = right_here"],
    ids=["while flags are read", "while a run is prepared"],
)
def test_before_anything_has_begun_it_ends_the_process_and_looks_like_no_gate(program: str) -> None:
    process = ended(program)
    assert process.returncode == -signal.SIGINT
    assert process.stderr == ""


def test_where_python_drops_it_the_command_does_not_go_on() -> None:
    process = ended("list_names.run = in_a_callback")
    assert process.returncode == 130
    assert process.stderr == "interrupted\n"


def test_in_the_work_of_a_command_it_is_an_exception_as_ever() -> None:
    process = ended("list_names.run = right_here")
    assert process.returncode == 130
    assert process.stderr == "assay list: interrupted\n"


def test_where_it_is_ignored_it_stays_ignored() -> None:
    process = ended("signal.signal(signal.SIGINT, signal.SIG_IGN); list_names.run = in_a_callback")
    assert process.returncode == 0
