"""When Python looks for garbage while a command runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from assay.cli import garbage
from assay.cli.main import main


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    usual = gc.get_threshold()
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()
    gc.enable()


def test_cycles_are_still_found_while_a_command_runs() -> None:
    class Ring:
        def __init__(self) -> None:
            self.me = self

    garbage.look_seldom()
    gc.collect()
    for _ in range(3 * garbage.OBJECTS):
        Ring()
    assert len([each for each in gc.get_objects() if type(each) is Ring]) <= garbage.OBJECTS


def test_the_command_asks_for_it_and_python_code_that_calls_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = gc.get_threshold()
    assert main(["--version"]) == 0
    assert (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()) == (usual, True, 0)
    monkeypatch.setattr(sys, "argv", ["assay", "--version"])
    assert main() == 0
    assert (gc.get_threshold()[0], gc.isenabled()) == (garbage.OBJECTS, True)


def test_what_is_loaded_is_passed_over_only_in_a_process_of_the_commands_own() -> None:
    garbage.pass_over_what_is_loaded()
    assert gc.get_freeze_count() == 0
    garbage.look_seldom()
    garbage.pass_over_what_is_loaded()
    assert gc.get_freeze_count() > 10_000
