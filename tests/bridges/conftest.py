"""Fixtures of somebody"s own parts and of a stranger"s task."""

from tests.tasks.fixtures import imported, project, stranger

__all__ = ["imported", "project", "stranger"]
