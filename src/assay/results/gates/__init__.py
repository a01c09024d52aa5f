"""Conditions on numbers, and how they are reported to a CI system."""
