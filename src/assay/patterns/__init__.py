"""Untrusted regular expressions: Python's `re`, with a limit on the time of each match."""
