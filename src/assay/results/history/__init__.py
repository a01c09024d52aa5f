"""Runs of the same tasks in order: how the score developed, what changed on the way, and where it got worse."""
