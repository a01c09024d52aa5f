"""Search for a better text: prompts and other artifacts, scored by an evaluator or by tasks, rewritten by a model.

`run.py` puts a search together and tells honestly what came of it; `engine.py` is the only file that knows GEPA.
"""
