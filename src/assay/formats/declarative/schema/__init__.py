"""The tables of declarative files: every field of task, dataset, model, evaluation and run files.

The fields are those of records, of `TypedDict`s and of factories' signatures (`from_annotations.py`); here stands how
they join, and the rules between parts. `checked.py` checks a document against its table; the same tables make the JSON
Schema that editors use (`assay schema`).
"""
