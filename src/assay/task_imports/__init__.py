"""Imports: the task files of other programs become task folders, and what could not be carried over is listed."""
