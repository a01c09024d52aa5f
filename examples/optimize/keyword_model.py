"""A stand-in for a language model, deterministic and without a network: it labels a ticket by hints in its prompt.

A line `- billing: invoice, refund` in the prompt lists words that mean billing. Without a hint it answers `unsure`.
"""

import re


def answer(prompt: str) -> str:
    ticket = prompt.rpartition("Ticket:")[2].lower()
    words = set(re.findall(r"[a-z]+", ticket))
    hints = {
        label: len(words & set(re.findall(r"[a-z]+", line.lower())))
        for label, line in re.findall(r"^- (\w+): (.*)$", prompt, re.MULTILINE)
    }
    best = max(hints, key=lambda label: hints[label], default="")
    return best if hints.get(best) else "unsure"
