"""When Python looks for garbage in cycles: seldom while a command runs, and never among what it has loaded to do it.

A command makes a hundred thousand objects while it starts and keeps them all. Python would walk over them again and
again, and twice more before it exits: that took a quarter of the CPU of a short run. What is dropped without being part
of a cycle is freed at once all the same. A process that only calls us is left as it is.
"""

from __future__ import annotations

import gc

OBJECTS = 10_000
"""So many more than before, and Python looks; the usual 700 are reached every few samples."""


def look_seldom() -> None:
    """The process is the command's own."""
    gc.set_threshold(OBJECTS, 10, 10)


def pass_over_what_is_loaded() -> None:
    """To be called before anything of the user's is loaded: that is looked at as ever."""
    if gc.get_threshold()[0] == OBJECTS:
        gc.freeze()
