"""Installed packages that provide tasks: their names, the process each runs in, and how it scores.

`process.py` starts and ends the process, `scoring.py` sends it answers in batches; `plain.py`, `problem.py` and
`time_limit.py` are what its worker is written with.
"""
