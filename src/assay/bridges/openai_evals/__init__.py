"""Evals of OpenAI's registry, by name: its YAML files name the samples, and the class that scores them.

`registry.py` looks names up, `source.py` makes task definitions, `samples.py` reads the data; `asking.py` and
`grading.py` are the solver and the scorer of model-graded evals. No code of the `evals` package runs.
"""
