"""What runs inside the confined processes: standard library only, and never any task data of its own.

The zygote loads this folder under the name `_assay_inside`, without the rest of assay and without site-packages,
so its modules import each other relatively and nothing else of the project. `values.py` is also read by the harness.
"""
