"""Stand-ins for language models: each answers offline from its prompt, the same every time.

Named in `models/*.yaml` and after `--model` as `stand_ins:NAME`. With real models this file is not needed.
"""

import json

from assay import Completion, Request

ANSWERS = {
    "France": "A parcel to France takes 3 days.",
    "Japan": "About 9 days.",
    "Kenya": "12",
    "Peru": "Usually 10 days.",
    "shoes": "I am sorry, shoes that were worn outside cannot be returned.",
    "gifts": "Yes, free of charge! And did you know that we have sold paper since 1901, in many colours and sizes?",
    "warranty": "One year.",
    "kettle": "The kettle boils a litre in two minutes. The kettle sings.",
    "lamp": "The lamp can be dimmed.",
}


class Assistant:
    """The evaluated model: right about most things, wrong about some."""

    name = "stand_ins:Assistant"

    async def generate(self, request: Request) -> Completion:
        last = str((request.messages or ())[-1].content)
        if request.tools:
            return Completion(text="", finish_reason="tool_calls", tool_calls=[call("find_order", last)])
        if any("DONE" in str(message.content) for message in request.messages or ()):
            return Completion(text="It goes to Zurich. DONE" if "Zurich" in last else "To which city?")
        return Completion(text=next((text for word, text in ANSWERS.items() if word in last), "I do not know."))


def call(name, message):
    """A call with the number of the message, as a server of OpenAI's protocol sends it."""
    number = int("".join(sign for sign in message if sign.isdigit()))
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps({"id": number})}}


def customer(request: Request) -> str:
    """The simulated user: names the city when asked."""
    return "To Zurich, please."


def judge(request: Request) -> str:
    """Rates by the rubric, extracts claims, and decides which text supports which claim, by exact wording."""
    system, user = (str(message.content) for message in request.messages or ())
    if "Take the text apart" in system:
        return json.dumps({"claims": sentences(user.split("Text: ", 1)[1])})
    if "entails it" in system:
        text, claims = user.removeprefix("Text: ").split("\n\nClaims:\n")
        return json.dumps({"entailed": [claim.split(". ", 1)[1] in text for claim in claims.splitlines()]})
    if "support every statement" in system:
        passages, answer = user.removeprefix("Passages: ").split("\nStatements: ")
        return "supported" if all(each in passages for each in sentences(answer)) else "unsupported"
    needed, answer = user.split("Must say: ")[1].split("\nAnswer: ")
    if needed not in answer:
        return "1"
    return "5" if len(answer.split()) < 15 else "3"


def sentences(text):
    return [part.strip() for part in text.split(".") if part.strip()]
