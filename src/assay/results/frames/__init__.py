"""Runs as tables for Python and for files: one row per attempt or per task, and typed columns."""
