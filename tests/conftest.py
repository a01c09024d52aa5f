"""What holds for every test: the user's folder is a temporary one, and in CI the same code gives the same verdict."""

from __future__ import annotations

import os
import shutil
import tempfile

from hypothesis import settings

# before anything is imported or started: neither a test nor a process of one may touch the home of who runs them
os.environ["ASSAY_HOME"] = tempfile.mkdtemp(prefix="assay-home-")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["ASSAY_HOME"], ignore_errors=True)


settings.register_profile("explore", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")
