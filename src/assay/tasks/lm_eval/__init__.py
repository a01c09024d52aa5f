"""Tasks of an installed lm-evaluation-harness, by name: its own `Task` objects ask and score, assay does the rest.

`source.py` turns a name into task definitions, `asking.py` and
`scoring.py` are the solver and the scorer. `worker.py` is the only file that imports lm_eval, and runs in a process of
its own (`library.py`), the one that snippets run in.
"""
