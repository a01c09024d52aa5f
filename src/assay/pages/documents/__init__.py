"""Boards, differences and standings as documents: the content, for `markdown.py` and `terminal.py` to lay out."""
