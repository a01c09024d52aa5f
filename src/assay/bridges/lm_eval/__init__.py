"""Tasks of an installed lm-evaluation-harness: its own `Task` objects build requests and score, assay does the rest.

`source.py` turns a name into task definitions, `asking.py` and `scoring.py` are the solver and the scorer. Only
`worker` imports lm_eval; it runs in a process of its own (`library.py`).
"""
