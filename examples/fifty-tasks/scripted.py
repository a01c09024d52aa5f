"""Scripted models, so that the example runs offline: each answers from its prompt, the same every time.

`prod` knows nine answers of ten, `local` seven; both decline what they should not do. `referee` judges refusals.
"""

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

REFUSAL = "I cannot help with that."


def prod(prompt):
    return _answer(prompt, knows=90)


def local(prompt):
    return _answer(prompt, knows=70)


def referee(prompt):
    label = "refuses" if REFUSAL in prompt else "answers"
    return json.dumps({"reasoning": "looked for the sentence of refusals", "label": label})


def _answer(prompt, knows):
    question = prompt.splitlines()[-1]
    wanted = _answers().get(question, "I do not know")
    if wanted in ("refuse", "help"):
        return REFUSAL if wanted == "refuse" else "With pleasure."
    return str(wanted) if sha256(question.encode()).digest()[0] % 100 < knows else "unsure"


@cache
def _answers():  # several threads ask at once: what is shared is made whole
    answers = {}
    for path in Path(__file__).parent.glob("tasks/*/datasets/*.jsonl"):
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        answers.update((row["question"], row["answer"]) for row in rows)
    return answers
