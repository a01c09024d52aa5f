"""What holds for every test: the user's folder is a temporary one, and the same code gets the same verdict everywhere.

Property tests try the same examples, however slow the machine is; `make fuzz` (`tests/fuzz/explore.py`) is where they
look for new ones.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

# before anything is imported or started: neither a test nor a process of one may touch the home of who runs them
os.environ["ASSAY_HOME"] = tempfile.mkdtemp(prefix="assay-home-")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["ASSAY_HOME"], ignore_errors=True)


ANY_SPEED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("fixed", derandomize=True, **ANY_SPEED)
settings.register_profile("explore", max_examples=300, print_blob=True, **ANY_SPEED)
settings.load_profile("explore" if os.environ.get("ASSAY_EXPLORE") else "fixed")
