"""Installed packages that provide tasks: their names, the process each runs in, and how it scores.

`process.py` starts and ends the process, `scoring.py` sends it answers in batches; workers use `plain.py`,
`problem.py`, `samples_file.py`, `tables.py` and `time_limit.py`.
"""
