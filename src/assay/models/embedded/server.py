"""The embedded model as an OpenAI-compatible server on loopback: `assay model serve`.

Chat completions, text completions with `echo` and true log-probabilities of the prompt, texts or token numbers, several
prompts at once, streams, embeddings, and the tokenizer's own addresses (`/tokenize`, `/detokenize`, `/tokenizer_info`)
that other evaluation programs look for. Requests that arrive together are computed together. Without a temperature it
writes greedily.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Request
from assay.models.embedded import event_stream
from assay.models.embedded import weights as embedded_weights
from assay.models.embedded.event_stream import TextPiece, chat_choice, send_pieces, text_choice
from assay.models.embedded.model import DEFAULT_MAX_TOKENS, EmbeddedModel
from assay.models.embedded.requests import ChatRequest, EmbeddingRequest, ServedRequest, TextRequest, Wrong
from assay.models.embedded.worker_lines import DOCUMENT_MARK, Question
from assay.models.likelihood.token_texts import TokenTexts

MOST_BODY_BYTES = 16 * 1024 * 1024
MOST_PROMPTS = 256
MOST_ALTERNATIVES = 20
USUAL_MAX_TOKENS = 16
"""Of text completions, as in the protocol."""
_TEXT = ("text_completion", "cmpl")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class EmbeddedServer:
    """The model and its addresses."""

    def __init__(self, folder: Path, *, workers: int | None = None) -> None:
        self._model = EmbeddedModel(folder=str(folder), workers=workers, batch_size=16)
        self._about = embedded_weights.describe(folder)
        self.name: str = self._about["name"]
        self._texts = TokenTexts(folder / "tokenizer.json")
        begin = self._about.get("begin_token")
        self._begin = [] if begin is None else [int(begin)]
        self._mark = int(self._about["end_token"])
        if (number := self._texts.number(DOCUMENT_MARK)) is not None:
            self._mark = number
        self._context = int(self._about["shape"]["context"])
        self._created = int(time.time())

    def application(self) -> web.Application:
        application = web.Application(middlewares=[_told_errors], client_max_size=MOST_BODY_BYTES)
        application.add_routes(
            [
                web.get("/health", self._health),
                web.get("/v1/models", self._models),
                web.get("/v1/models/{name}", self._one_model),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._text),
                web.post("/v1/embeddings", self._embeddings),
                web.post("/tokenize", self._tokenize),
                web.post("/detokenize", self._detokenize),
                web.get("/tokenizer_info", self._tokenizer_info),
            ]
        )
        return application

    async def aclose(self) -> None:
        await self._model.aclose()

    # -- what it is --------------------------------------------------------------------------------------------

    async def _health(self, _: web.Request) -> web.Response:
        return _json({"status": "ok"})

    async def _models(self, _: web.Request) -> web.Response:
        return _json({"object": "list", "data": [self._card()]})

    async def _one_model(self, request: web.Request) -> web.Response:
        self._check_name(request.match_info["name"])
        return _json(self._card())

    def _card(self) -> dict[str, Any]:
        return {
            "id": self.name,
            "object": "model",
            "created": self._created,
            "owned_by": "assay",
            "max_model_len": self._context,
            "license": self._about["licence"],
        }

    async def _tokenize(self, request: web.Request) -> web.Response:
        asked = await _body(request, dict[str, Any])
        text = asked.get("prompt", asked.get("content"))
        if not isinstance(text, str):
            raise Wrong("`prompt` must be a text", param="prompt")
        tokens = self._texts.encode(text)
        if asked.get("add_special_tokens", True):
            tokens = [*self._begin, *tokens]
        return _json({"tokens": tokens, "count": len(tokens), "max_model_len": self._context})

    async def _detokenize(self, request: web.Request) -> web.Response:
        tokens = self._numbers((await _body(request, dict[str, Any])).get("tokens"), "tokens")
        return _json({"prompt": self._texts.decode(tokens)})

    async def _tokenizer_info(self, _: web.Request) -> web.Response:
        return _json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "bos_token": self._texts.decode([self._mark]),
                "eos_token": self._texts.decode([int(self._about["end_token"])]),
                "chat_template": self._about.get("chat_template"),
            }
        )

    # -- what it is asked --------------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        asked = await _body(request, ChatRequest)
        self._check(asked)
        if not asked.messages:
            raise Wrong("`messages` must hold at least one message", param="messages")
        if asked.tools or (asked.response_format or {}).get("type", "text") != "text":
            raise Wrong("this model takes no tools and no response format", param="tools")
        most = asked.max_completion_tokens if asked.max_completion_tokens is not None else asked.max_tokens
        _check_count("max_tokens", most, least=1)
        alternatives = _alternatives("top_logprobs", asked.top_logprobs or 0) if asked.logprobs else None
        one = _request(asked, most, alternatives, messages=tuple(asked.messages))
        questions = [
            Question(id=0, request=each, chat=True, max_tokens=DEFAULT_MAX_TOKENS) for each in _repeated(one, asked.n)
        ]
        if asked.stream and alternatives is None:
            return await self._streamed(request, asked, questions, 1, chat=True)
        found = await self._answers(questions)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": each.text},
                "finish_reason": each.finish_reason,
                "logprobs": None if alternatives is None else {"content": each.logprobs},
            }
            for index, each in enumerate(found)
        ]
        answer = {**self._about_answer("chat.completion", "chatcmpl"), "choices": choices}
        return await _sent(request, asked, answer, _usage(found[:1], found))

    async def _text(self, request: web.Request) -> web.StreamResponse:
        asked = await _body(request, TextRequest)
        self._check(asked)
        if asked.suffix or (asked.best_of or 1) != 1:
            raise Wrong("`suffix` and `best_of` are not supported", param="suffix" if asked.suffix else "best_of")
        most = USUAL_MAX_TOKENS if asked.max_tokens is None else asked.max_tokens
        _check_count("max_tokens", most, least=0 if asked.echo else 1)
        alternatives = None if asked.logprobs is None else _alternatives("logprobs", asked.logprobs)
        prompts = self._prompts(asked.prompt)
        if len(prompts) * asked.n > MOST_PROMPTS:
            raise Wrong(f"{len(prompts) * asked.n} answers in one request; at most {MOST_PROMPTS}", param="prompt")
        one = _request(asked, most, alternatives, prompt="")
        questions = [
            # a prompt of nothing is asked as what stands between documents, and not shown
            Question(
                id=0, request=each, chat=False, max_tokens=most, prompt_tokens=tokens or [self._mark], echo=asked.echo
            )
            for tokens in prompts
            for each in _repeated(one, asked.n)
        ]
        if asked.stream and alternatives is None and not asked.echo:
            return await self._streamed(request, asked, questions, len(prompts), chat=False)
        found = await self._answers(questions)
        shown = [prompts[place // asked.n] for place in range(len(found))]
        choices = [
            self._text_choice(index, asked, tokens, each)
            for index, (tokens, each) in enumerate(zip(shown, found, strict=True))
        ]
        answer = {**self._about_answer(*_TEXT), "choices": choices}
        return await _sent(request, asked, answer, _usage(found[:: asked.n], found))

    async def _embeddings(self, request: web.Request) -> web.Response:
        asked = await _body(request, EmbeddingRequest)
        self._check_name(asked.model)
        if asked.dimensions is not None:
            raise Wrong("`dimensions` is not supported", param="dimensions")
        texts = self._prompts(asked.input, "input")
        if len(texts) > MOST_PROMPTS:
            raise Wrong(f"{len(texts)} texts in one request; at most {MOST_PROMPTS}", param="input")
        if not all(texts):
            raise Wrong("`input` must not be an empty text", param="input")
        one = Request(prompt="", embed=True)
        found = await self._answers(
            [Question(id=0, request=one, chat=False, max_tokens=0, prompt_tokens=tokens) for tokens in texts]
        )
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(each.embedding or (), asked.encoding_format)}
            for index, each in enumerate(found)
        ]
        read = sum(each.tokens_in or 0 for each in found)
        usage = {"prompt_tokens": read, "total_tokens": read}
        return _json({"object": "list", "model": self.name, "data": data, "usage": usage})

    def _text_choice(self, index: int, asked: TextRequest, prompt: list[int], found: Completion) -> dict[str, Any]:
        before = self._texts.decode(prompt) if asked.echo else ""
        logprobs = None if asked.logprobs is None else self._logprobs(asked, prompt, before, found)
        return {
            "index": index,
            "text": before + found.text,
            "finish_reason": found.finish_reason,
            "logprobs": logprobs,
        }

    def _logprobs(self, asked: TextRequest, prompt: list[int], before: str, found: Completion) -> dict[str, Any]:
        """The protocol's parallel lists: the echoed prompt, whose first token has nothing before it, and the answer."""
        raw = found.raw or {}
        begins = self._texts.offsets(raw["tokens"], len(before))
        kept = list(zip(raw["tokens"], raw["logprobs"], begins, strict=True))
        if raw["end"] is not None:  # programs count on one more token than the prompt has, even when it is the end
            kept.append((*raw["end"], len(before) + len(found.text)))
        elif found.finish_reason == "stop":  # a stop text was cut off, and so are the tokens that wrote it
            kept = [each for each in kept if each[2] < len(before) + len(found.text)]
        logprobs = [*([None, *raw["prompt_logprobs"]] if asked.echo and prompt else []), *(each[1] for each in kept)]
        tokens = [*(prompt if asked.echo else []), *(each[0] for each in kept)]
        tops = [None if each is None else self._top(token, each) for token, each in zip(tokens, logprobs, strict=True)]
        return {
            "tokens": [self._texts.text(token) for token in tokens],
            "token_logprobs": [None if each is None else each[0] for each in logprobs],
            "top_logprobs": tops if asked.logprobs else None,
            "text_offset": [*(self._texts.offsets(prompt) if asked.echo else []), *(each[2] for each in kept)],
        }

    def _top(self, token: int, logprobs: Sequence[Any]) -> dict[str, float]:
        """The likeliest tokens, and the one that stands there."""
        logprob, best = logprobs
        return {self._texts.text(token): logprob} | {self._texts.text(other): value for other, value in best}

    # -- checks and shapes -------------------------------------------------------------------------------------

    def _check(self, asked: ServedRequest) -> None:
        self._check_name(asked.model)
        if asked.temperature is not None and not 0 <= asked.temperature <= 2:
            raise Wrong("`temperature` must be between 0 and 2", param="temperature")
        if asked.top_p is not None and not 0 < asked.top_p <= 1:
            raise Wrong("`top_p` must be above 0 and at most 1", param="top_p")
        if not 1 <= asked.n <= MOST_PROMPTS:
            raise Wrong(f"`n` must be between 1 and {MOST_PROMPTS}", param="n")
        for name in ("frequency_penalty", "presence_penalty", "logit_bias"):
            if getattr(asked, name):
                raise Wrong(f"`{name}` is not supported", param=name)

    def _check_name(self, name: str | None) -> None:
        if name not in (None, "", "embedded", self.name):
            message = f"unknown model `{name}`; available: `{self.name}`"
            raise Wrong(message, status=404, param="model", code="model_not_found")

    def _prompts(self, given: str | list[Any], param: str = "prompt") -> list[list[int]]:
        if isinstance(given, str):
            return [[*self._begin, *self._texts.encode(given)]]
        if not given:
            raise Wrong(f"`{param}` must not be an empty list", param=param)
        if all(isinstance(each, int) for each in given):
            return [self._numbers(given, param)]
        return [
            [*self._begin, *self._texts.encode(each)] if isinstance(each, str) else self._numbers(each, param)
            for each in given
        ]

    def _numbers(self, given: Any, param: str) -> list[int]:
        if not isinstance(given, list) or any(isinstance(each, bool) or not isinstance(each, int) for each in given):
            raise Wrong(f"`{param}` must be a text, texts, token numbers, or lists of token numbers", param=param)
        if any(not 0 <= each < self._texts.size for each in given):
            raise Wrong(f"`{param}` holds a token number outside 0 to {self._texts.size - 1}", param=param)
        return given

    async def _answers(self, questions: Sequence[Question]) -> list[Completion]:
        try:
            return list(await asyncio.gather(*(self._model.ask(question) for question in questions)))
        except FailureError as error:
            raise _wrong(error) from error

    async def _streamed(
        self, request: web.Request, asked: ServedRequest, questions: Sequence[Question], prompts: int, *, chat: bool
    ) -> web.StreamResponse:
        """The answers piece by piece, as they are written."""

        async def asking(tell: Callable[[TextPiece], None]) -> list[Completion]:
            def pieces_of(index: int) -> Callable[[str], None]:
                return lambda text: tell((index, text))

            asks = (self._model.ask(each, pieces_of(index)) for index, each in enumerate(questions))
            return list(await asyncio.gather(*asks))

        def usage(found: Sequence[Completion]) -> dict[str, int] | None:
            return _usage(found[:: len(found) // prompts], found) if _wants_usage(asked) else None

        about = self._about_answer("chat.completion.chunk", "chatcmpl") if chat else self._about_answer(*_TEXT)
        try:
            return await send_pieces(request, asking, about, chat_choice if chat else text_choice, usage)
        except FailureError as error:
            raise _wrong(error) from error

    def _about_answer(self, kind: str, prefix: str) -> dict[str, Any]:
        return {
            "id": f"{prefix}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": self.name,
        }


def _request(asked: ServedRequest, most: int | None, alternatives: int | None, **said: Any) -> Request:
    stop = (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    return Request(
        temperature=asked.temperature or 0.0,
        top_p=asked.top_p,
        max_tokens=most,
        stop=stop or None,
        seed=asked.seed,
        logprobs=alternatives,
        **said,
    )


def _encoded(vector: Sequence[float], encoding: str) -> list[float] | str:
    """As numbers, or as the bytes of 32-bit floats, which the vendor's own client asks for."""
    if encoding == "float":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _repeated(request: Request, count: int) -> list[Request]:
    """Each answer of several has its own chance."""
    return [msgspec.structs.replace(request, attempt=number + 1) for number in range(count)]


def _usage(prompts: Sequence[Completion], found: Sequence[Completion]) -> dict[str, int]:
    read = sum(each.tokens_in or 0 for each in prompts)
    written = sum(each.tokens_out or 0 for each in found)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _check_count(param: str, value: int | None, *, least: int) -> None:
    if value is not None and value < least:
        raise Wrong(f"`{param}` must be at least {least}, got {value}", param=param)


def _alternatives(param: str, value: int) -> int:
    if not 0 <= value <= MOST_ALTERNATIVES:
        raise Wrong(f"`{param}` must be between 0 and {MOST_ALTERNATIVES}, not {value}", param=param)
    return value


async def _body(request: web.Request, kind: Any) -> Any:
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.ValidationError as error:
        raise Wrong(f"the request does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"the request is not JSON: {error}") from error


def _wrong(error: FailureError) -> Wrong:
    failure = error.failure
    if failure.kind == "too_long":
        return Wrong(failure.message, code="context_length_exceeded")
    if failure.kind in ("bad_request", "unsupported"):
        return Wrong(failure.message)
    return Wrong(failure.message, status=500, code=failure.kind)


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


@web.middleware
async def _told_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is wrong is answered in the protocol's own shape; only this machine's own names are listened to."""
    try:
        if request.url.host not in _LOOPBACK:
            raise Wrong("this server answers to loopback names only", status=403)
        return await handler(request)
    except Wrong as error:
        return _error(str(error), error.status, error.param, error.code)
    except web.HTTPException as error:
        return _error(f"{error.reason}: {request.method} {request.path}", error.status, None, None)


def _error(message: str, status: int, param: str | None, code: str | None) -> web.Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return _json({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


# -- answers that are whole before they are sent: log-probabilities and echoed prompts come in one piece --------------


async def _sent(
    request: web.Request, asked: ServedRequest, answer: dict[str, Any], usage: dict[str, int]
) -> web.StreamResponse:
    if not asked.stream:
        return _json({**answer, "usage": usage})
    response = await event_stream.begin(request)
    chat = answer["object"] == "chat.completion"
    about = {**answer, "object": "chat.completion.chunk" if chat else answer["object"]}
    for choice in answer["choices"]:
        piece = {"delta" if name == "message" else name: value for name, value in choice.items()}
        await response.write(event_stream.event({**about, "choices": [piece]}))
    await event_stream.end(response, about, usage if _wants_usage(asked) else None)
    return response


def _wants_usage(asked: ServedRequest) -> bool:
    return bool((asked.stream_options or {}).get("include_usage"))


# -- the process -----------------------------------------------------------------------------------------------------


async def serve(server: EmbeddedServer, port: int, ready: Callable[[str], None]) -> None:
    """Listen on loopback until cancelled; `ready` is called with the address."""
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error
        ready(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
        await server.aclose()
