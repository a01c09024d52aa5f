"""A reader of task files for all tests of declarative tasks."""

from __future__ import annotations

import pytest
from tests.formats.declarative.yaml_tasks import reader

read = pytest.fixture(reader)
