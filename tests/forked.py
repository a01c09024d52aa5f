"""A copy of the test process that cannot outlive what it is for."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(work: Callable[[], object]) -> int:
    """Do it in a forked copy of this process; its exit status.

    Whatever happens, the copy runs no test and no exit handler of this process.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
