"""Evals of OpenAI's registry, by name: its YAML files say which samples are asked, and which class scores them.

`registry.py` looks names up, `source.py` makes task definitions, `samples.py` reads the data; `asking.py` and
`grading.py` are the solver and the scorer of model-graded evals. No code of that program is run.
"""
