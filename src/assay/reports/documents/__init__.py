"""Boards, differences and standings as documents: what is said, for `markdown.py` and `terminal.py` to lay out."""
