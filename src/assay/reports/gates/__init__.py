"""Conditions on numbers, and how a CI system is told."""
