"""The tables of declarative files: every field of task, dataset, model, evaluation and run files.

One file for each kind of thing that can be written. `checked.py` checks a document against its table; the same tables
make the JSON Schema that editors use (`assay schema`).
"""
