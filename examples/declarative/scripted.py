"""Scripted models for the examples: each answers offline from its prompt, the same every time.

Named in `models/*.yaml` and after `--model` as `scripted:NAME`. Replace them with real models.
"""

import json

from assay import Completion, Request

CAPITALS = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Kenya": "Nairobi", "Peru": "Cusco"}


def geographer(prompt: str) -> str:
    """Knows some capitals, and gets Peru wrong."""
    for country, capital in CAPITALS.items():
        if country in prompt:
            return f"The capital of {country} is {capital}."
    return "I do not know."


def quiz_taker(prompt: str) -> str:
    """Always takes the second choice."""
    return "B"


def judge(prompt: str) -> str:
    """Answers `correct` when the answer contains the expected one."""
    expected, candidate = prompt.split("Expected: ")[1].split("\nAnswer: ")
    label = "correct" if expected.strip() in candidate else "incorrect"
    return json.dumps({"prediction": label, "reasoning": f"looked for {expected.strip()}", "confidence": 1.0})


def rater(prompt: str) -> str:
    """Rates from 1 to 5 by length: the shorter the better."""
    answer = prompt.split("Answer: ")[1].split("\n", maxsplit=1)[0]
    return str(max(1, 6 - len(answer.split())))


def labeler(prompt: str) -> str:
    """Distinguishes a refusal from an answer."""
    return "refusal" if "I do not know" in prompt.split("Answer: ")[1] else "answer"


def assistant(request: Request) -> str:
    """Asks for the city until it is named."""
    last = str((request.messages or ())[-1].content)
    if "Zurich" in last:
        return "Booked: a table in Zurich. DONE"
    return "In which city?"


def customer(request: Request) -> str:
    """The simulated user: names the city when asked."""
    return "In Zurich, please."


class Librarian:
    """Answers with the passages it read, as a retrieval service does."""

    name = "librarian"

    async def generate(self, request: Request) -> Completion:
        passages = [{"content": "Bern has a bear park. The Aare flows through Bern."}, {"content": "Basel has a zoo."}]
        return Completion(text="Bern has a bear park. Bern has an opera.", raw={"references": passages})


def claim_checker(request: Request) -> str:
    """Treats sentences as claims, and a claim as entailed when the text contains it word for word."""
    system, user = (str(message.content) for message in request.messages or ())
    if "Take the text apart" in system:
        text = user.split("Text: ", 1)[1]
        return json.dumps({"claims": [part.strip() for part in text.split(".") if part.strip()]})
    text, claims = user.removeprefix("Text: ").split("\n\nClaims:\n")
    return json.dumps({"entailed": [claim.split(". ", 1)[1] in text for claim in claims.splitlines()]})


def calculator(prompt: str) -> str:
    """Adds the numbers of the last line."""
    return str(sum(int(word) for word in prompt.splitlines()[-1].split() if word.isdigit()))
