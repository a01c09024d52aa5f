"""Whose files these are, and what they may do."""
