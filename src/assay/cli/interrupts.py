"""Ctrl-C at any moment of a command, the earliest included: it ends the command, and nothing swallows it.

Python turns Ctrl-C into an exception wherever it happens to be. In argparse that became another error, whose exit code
reads like a gate that was not met; in the callbacks of an import it was dropped, and the command went on to its end.
"""

from __future__ import annotations

import os
import signal
import sys

from assay.runs.exit_status import INTERRUPTED


def end_at_once() -> None:
    """From now on Ctrl-C ends the process, as SIGTERM does: nothing has begun that could be left half done.

    Where it is ignored (`nohup`, a background job) or another handler is installed, that stays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.unraisablehook = _no_interrupt_is_lost


def raise_from_now_on() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt`, so that callers can clean up; one that is swallowed ends us."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _no_interrupt_is_lost(lost: sys.UnraisableHookArgs) -> None:
    if issubclass(lost.exc_type, KeyboardInterrupt):
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # what was written so far is whole: the next command finds it as after a kill
    sys.__unraisablehook__(lost)
