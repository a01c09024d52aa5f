"""Tasks of an installed Inspect: its own solvers build requests, its own scorers score, assay does the rest.

`source.py` turns a name into a task definition, `scoring.py` is the scorer; the solver is assay's own, as requests are
built once. Only `worker` imports inspect_ai; it runs in a process of its own (`library.py`).
"""
