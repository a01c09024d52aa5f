"""A server for `bench lm_eval_parity`: OpenAI's protocol, log-probabilities and answers made of a hash of the text.

Two programs that send the same requests get the same answers, in any order; another stop, limit or turn gets another
answer. `python -m bench._lm_eval_server TOKENIZER.json` prints its address. The model `short` reads few tokens, `long`
many; both have the endpoint `/tokenize` as vLLM has it.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from assay.models.likelihood.token_texts import TokenTexts

MOST_TOKENS = {"long": 1 << 20, "short": 96}
SEEN = 8
"""Tokens before it that decide how likely a token is."""
PIECES = (
    " It is {n}.", " The answer is {n}.", " The answer is ({l}).", " {l}", "\n\n", " #### {n}", " best answer is {l}.",
    " $\\boxed{{{n}}}$", " True", " False", " silver copper", "\nQuestion:", "\nQ:", " The final answer is {n}", " yes",
    " river stone, light.", " Calm: {n}\nFear: 3\nHope: 5\nPride: 1\n", "</s>", " Problem:", " Therefore {n}",
)  # fmt: skip


class Scripted:
    """What the server knows about texts."""

    def __init__(self, tokenizer: str) -> None:
        self.texts = TokenTexts(Path(tokenizer))

    def logprob(self, tokens: list[int], at: int) -> tuple[float, float]:
        """Of the token in this place, and of the likeliest there."""
        seen = tokens[max(0, at - SEEN) : at + 1]
        digest = hashlib.blake2b(struct.pack(f"{len(seen)}I", *seen), digest_size=6).digest()
        share = int.from_bytes(digest, "big") / 2**48
        value = -12.0 * share * share - 0.05
        return value, value if share < 0.6 else value / 2

    def echoed(self, tokens: list[int]) -> dict[str, Any]:
        tokens = [*tokens, 1]  # the one that is written
        values = [self.logprob(tokens, at) for at in range(len(tokens))]
        shown = [self.texts.text(token) for token in tokens]
        return {
            "tokens": shown,
            "token_logprobs": [None, *(value for value, _ in values[1:])],
            "text_offset": self.texts.offsets(tokens),
            "top_logprobs": [None, *({"top": top} for _, top in values[1:])],
        }

    def written(self, question: str, asked: dict[str, Any]) -> str:
        rng = random.Random(hashlib.sha256(question.encode()).hexdigest())
        pieces = [rng.choice(PIECES).format(n=rng.randrange(12), l=rng.choice("ABCD")) for _ in range(8)]
        text = " ".join("".join(pieces).split(" ")[: asked.get("max_tokens") or 16])
        stops = asked.get("stop") or []
        for stop in [stops] if isinstance(stops, str) else stops:
            text = text.partition(stop)[0] if stop else text
        return text


def completions(model: Scripted, asked: dict[str, Any]) -> web.Response:
    prompts = asked["prompt"]
    if isinstance(prompts, str) or (prompts and isinstance(prompts[0], int)):
        prompts = [prompts]
    choices = []
    for index, prompt in enumerate(prompts):
        tokens = model.texts.encode(prompt) if isinstance(prompt, str) else prompt
        most = MOST_TOKENS[asked["model"]]
        if len(tokens) + 1 > most:
            message = f"This model's maximum context length is {most} tokens, you requested {len(tokens) + 1}."
            return web.json_response({"error": {"message": message, "code": "context_length_exceeded"}}, status=400)
        text = model.texts.decode(tokens)
        if asked.get("echo"):
            choices.append({"index": index, "text": text, "finish_reason": "length", "logprobs": model.echoed(tokens)})
        else:
            choices.append({"index": index, "text": model.written(text, asked), "finish_reason": "stop"})
    return web.json_response({"choices": choices, "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1}})


def chat(model: Scripted, asked: dict[str, Any]) -> web.Response:
    question = json.dumps(asked["messages"], sort_keys=True)
    message = {"role": "assistant", "content": model.written(question, asked)}
    return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def tokenized(model: Scripted, asked: dict[str, Any]) -> web.Response:
    tokens = model.texts.encode(asked["prompt"])
    return web.json_response({"tokens": tokens, "count": len(tokens), "max_model_len": MOST_TOKENS[asked["model"]]})


def application(model: Scripted) -> web.Application:
    def handler(answer: Any) -> Any:
        async def handle(request: web.Request) -> web.Response:
            found: web.Response = answer(model, await request.json())
            return found

        return handle

    found = web.Application(client_max_size=1 << 28)
    found.router.add_post("/v1/completions", handler(completions))
    found.router.add_post("/v1/chat/completions", handler(chat))
    found.router.add_post("/tokenize", handler(tokenized))
    return found


def main() -> None:
    import asyncio

    async def serve() -> None:
        runner = web.AppRunner(application(Scripted(sys.argv[1])), access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
