"""promptfoo configurations, run in place: prompts × providers × tests with their assertions, as in promptfoo itself.

`source.py` turns a file into task definitions, `config.py` reads it and the files it names, `prompts.py`, `tests.py`,
`assertions.py` and `providers.py` one section of it each; `samples.py` is the dataset. What is not supported is
refused by name, with its place. Everything is read as version 0.121 reads it.
"""
