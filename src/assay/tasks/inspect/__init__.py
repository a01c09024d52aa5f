"""Tasks of an installed Inspect, by name: its own solvers ask and its own scorers score, assay does the rest.

`source.py` turns a name into a task definition, `scoring.py` is the scorer; the solver is assay's own, for what a task
asks is built once. `worker/` is the only part that imports inspect_ai, and runs in a process of its own.
"""
