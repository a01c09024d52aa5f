"""Statistics: how sure a number is, whether two runs differ, and what repetitions say. Needs numpy, not scipy."""
