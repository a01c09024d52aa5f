"""What holds for every test: the user's folder is a temporary one, and the same code gets the same verdict everywhere.

Property tests try the same examples, however slow the machine is; `make fuzz` (`tests/fuzz/explore.py`) is where they
look for new ones.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import skips

# before anything is imported or started: neither a test nor a process of one may touch the home of who runs them
os.environ["ASSAY_HOME"] = tempfile.mkdtemp(prefix="assay-home-")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(skips)
    if not getattr(config.option, "numprocesses", None):  # not the process that hands them out
        give_children_default_signals()


def give_children_default_signals() -> None:
    """Makes tests of signals independent of what started them: `nohup` ignores SIGHUP, a shell's `&` ignores SIGINT.

    A child inherits that a signal is ignored, but not that it is handled.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore if number == signal.SIGHUP else signal.default_int_handler)


def _ignore(number: int, frame: object) -> None:
    """Leaves the tests running when the terminal closes, as `nohup` asked for."""


def pytest_collection_finish() -> None:
    """Leaves modules and the tests themselves out of later collections of garbage: most of each would go over them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["ASSAY_HOME"], ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The names of what failed, one per line, to run just these again."""
    if path := os.environ.get("FAILED_TESTS_FILE"):
        reports = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
        Path(path).write_text("".join(f"{name}\n" for name in dict.fromkeys(report.nodeid for report in reports)))


ANY_SPEED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("fixed", derandomize=True, **ANY_SPEED)
settings.register_profile("explore", max_examples=300, print_blob=True, **ANY_SPEED)
settings.load_profile("explore" if os.environ.get("ASSAY_EXPLORE") else "fixed")
