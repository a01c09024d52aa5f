"""The code inside the confined processes: standard library only, and no task data.

The zygote loads this folder as `_assay_inside`, without the rest of assay and without site-packages, so its modules
import each other relatively and nothing else of the project. The harness imports what both sides must agree on:
`values.py`, `frames.py`, `endings.py` and the actions of `candidate.py`.
"""
