"""Search for a better text: prompts and other artifacts, scored by an evaluator or by tasks, rewritten by a model.

`run.py` puts a search together and reports honestly what came of it, `settings.py` has its settings and
`folder.py` where it lies; `engine.py` is the only file that knows GEPA.
"""
