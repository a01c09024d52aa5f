"""Tasks of rows and scorers, run in the working directory."""

from tests.results.conftest import runs

__all__ = ["runs"]
