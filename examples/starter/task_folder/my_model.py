"""Your own adapter, named on the command line as `my_model:MyModel`. Replace `generate` with a real call."""


class MyModel:
    name = "my-model"

    def generate(self, prompts):
        """Texts in, texts out, in the same order. Raise when the model cannot answer: a failure is never a score."""
        return [answer(prompt) for prompt in prompts]


def answer(prompt):
    known = {"France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi"}
    for country, capital in known.items():
        if country in prompt:
            return capital
    return prompt.removeprefix("write:").strip()
