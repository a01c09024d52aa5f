"""Assertions about one answer, and the scorers that list them."""
