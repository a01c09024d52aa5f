"""The embedded model as an OpenAI-compatible server on loopback: `assay model serve`.

Chat completions, text completions with `echo` and true log-probabilities of the prompt, texts or token numbers, several
prompts at once, streams, embeddings, and the tokenizer's endpoints (`/tokenize`, `/detokenize`, `/tokenizer_info`) that
other evaluation programs use. Requests that arrive together are computed together. Without a temperature it decodes
greedily.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from secrets import randbits
from typing import Any

import msgspec
from aiohttp import web

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Request
from assay.models.embedded import event_stream
from assay.models.embedded import weights as embedded_weights
from assay.models.embedded.event_stream import TextPiece, chat_choice, send_pieces, text_choice
from assay.models.embedded.model import DEFAULT_MAX_TOKENS, EmbeddedModel
from assay.models.embedded.requests import ApiError, ChatRequest, EmbeddingRequest, ServedRequest, TextRequest
from assay.models.embedded.worker_lines import DOCUMENT_MARK, Question
from assay.models.likelihood.token_texts import TokenTexts
from assay.models.prompt_fit import HOW_TO_CUT, after_begin

MOST_BODY_BYTES = 16 * 1024 * 1024
MOST_PROMPTS = 256
MOST_ALTERNATIVES = 20
USUAL_MAX_TOKENS = 16
"""The default of text completions, as in the protocol."""
_TEXT = ("text_completion", "cmpl")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class EmbeddedServer:
    """The model and its endpoints."""

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
        application = web.Application(middlewares=[_report_errors], client_max_size=MOST_BODY_BYTES)
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

    # -- the model and its tokenizer ---------------------------------------------------------------------------

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
        body = await _body(request, dict[str, Any])
        text = body.get("prompt", body.get("content"))
        if not isinstance(text, str):
            raise ApiError("`prompt` must be a text", param="prompt")
        tokens = self._texts.encode(text)
        if body.get("add_special_tokens", True):
            tokens = after_begin(self._begin, tokens)
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

    # -- completions and embeddings ----------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request, ChatRequest)
        self._check(body)
        if not body.messages:
            raise ApiError("`messages` must contain at least one message", param="messages")
        if body.tools or (body.response_format or {}).get("type", "text") != "text":
            raise ApiError("this model takes no tools and no response format", param="tools")
        most = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
        _check_count("max_tokens", most, least=1)
        alternatives = _alternatives("top_logprobs", body.top_logprobs or 0) if body.logprobs else None
        single = _request(body, most, alternatives, messages=tuple(body.messages))
        questions = [
            Question(id=0, request=item, chat=True, max_tokens=DEFAULT_MAX_TOKENS) for item in _repeated(single, body.n)
        ]
        if body.stream and alternatives is None:
            return await self._streamed(request, body, questions, 1, chat=True)
        completions = await self._answers(questions)
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": completion.text},
                "finish_reason": completion.finish_reason,
                "logprobs": None if alternatives is None else {"content": completion.logprobs},
            }
            for index, completion in enumerate(completions)
        ]
        answer = {**self._about_answer("chat.completion", "chatcmpl"), "choices": choices}
        return await _sent(request, body, answer, _usage(completions[:1], completions))

    async def _text(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request, TextRequest)
        self._check(body)
        if body.suffix or (body.best_of or 1) != 1:
            raise ApiError("`suffix` and `best_of` are not supported", param="suffix" if body.suffix else "best_of")
        most = USUAL_MAX_TOKENS if body.max_tokens is None else body.max_tokens
        _check_count("max_tokens", most, least=0 if body.echo else 1)
        alternatives = None if body.logprobs is None else _alternatives("logprobs", body.logprobs)
        prompts = self._prompts(body.prompt)
        if len(prompts) * body.n > MOST_PROMPTS:
            raise ApiError(f"{len(prompts) * body.n} answers in one request; at most {MOST_PROMPTS}", param="prompt")
        single = _request(body, most, alternatives, prompt="")
        questions = [
            # an empty prompt is sent as the mark between documents, and not shown
            Question(
                id=0, request=item, chat=False, max_tokens=most, prompt_tokens=tokens or [self._mark], echo=body.echo
            )
            for tokens in prompts
            for item in _repeated(single, body.n)
        ]
        if body.stream and alternatives is None and not body.echo:
            return await self._streamed(request, body, questions, len(prompts), chat=False)
        completions = await self._answers(questions)
        shown = [prompts[place // body.n] for place in range(len(completions))]
        choices = [
            self._text_choice(index, body, tokens, completion)
            for index, (tokens, completion) in enumerate(zip(shown, completions, strict=True))
        ]
        answer = {**self._about_answer(*_TEXT), "choices": choices}
        return await _sent(request, body, answer, _usage(completions[:: body.n], completions))

    async def _embeddings(self, request: web.Request) -> web.Response:
        body = await _body(request, EmbeddingRequest)
        self._check_name(body.model)
        if body.dimensions is not None:
            raise ApiError("`dimensions` is not supported", param="dimensions")
        texts = self._prompts(body.input, "input")
        if len(texts) > MOST_PROMPTS:
            raise ApiError(f"{len(texts)} texts in one request; at most {MOST_PROMPTS}", param="input")
        if not all(texts):
            raise ApiError("`input` must not be an empty text", param="input")
        single = Request(prompt="", embed=True)
        completions = await self._answers(
            [Question(id=0, request=single, chat=False, max_tokens=0, prompt_tokens=tokens) for tokens in texts]
        )
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(each.embedding or (), body.encoding_format)}
            for index, each in enumerate(completions)
        ]
        read = sum(completion.tokens_in or 0 for completion in completions)
        usage = {"prompt_tokens": read, "total_tokens": read}
        return _json({"object": "list", "model": self.name, "data": data, "usage": usage})

    def _text_choice(self, index: int, body: TextRequest, prompt: list[int], completion: Completion) -> dict[str, Any]:
        before = self._texts.decode(prompt) if body.echo else ""
        logprobs = None if body.logprobs is None else self._logprobs(body, prompt, before, completion)
        return {
            "index": index,
            "text": before + completion.text,
            "finish_reason": completion.finish_reason,
            "logprobs": logprobs,
        }

    def _logprobs(self, body: TextRequest, prompt: list[int], before: str, completion: Completion) -> dict[str, Any]:
        """The protocol's parallel lists: of the echoed prompt, whose first token has no logprob, and of the answer."""
        raw = completion.raw or {}
        begins = self._texts.offsets(raw["tokens"], len(before))
        kept = list(zip(raw["tokens"], raw["logprobs"], begins, strict=True))
        if raw["end"] is not None:  # programs count on one more token than the prompt has, even when it is the end
            kept.append((*raw["end"], len(before) + len(completion.text)))
        elif completion.finish_reason == "stop":  # a stop text was cut off, and so are the tokens that wrote it
            kept = [item for item in kept if item[2] < len(before) + len(completion.text)]
        logprobs = [*([None, *raw["prompt_logprobs"]] if body.echo and prompt else []), *(item[1] for item in kept)]
        tokens = [*(prompt if body.echo else []), *(item[0] for item in kept)]
        tops = [None if each is None else self._top(token, each) for token, each in zip(tokens, logprobs, strict=True)]
        return {
            "tokens": [self._texts.text(token) for token in tokens],
            "token_logprobs": [None if logprob is None else logprob[0] for logprob in logprobs],
            "top_logprobs": tops if body.logprobs else None,
            "text_offset": [*(self._texts.offsets(prompt) if body.echo else []), *(item[2] for item in kept)],
        }

    def _top(self, token: int, logprobs: Sequence[Any]) -> dict[str, float]:
        """The likeliest tokens, and the token itself."""
        logprob, best = logprobs
        return {self._texts.text(token): logprob} | {self._texts.text(likely): value for likely, value in best}

    # -- checks ------------------------------------------------------------------------------------------------

    def _check(self, body: ServedRequest) -> None:
        self._check_name(body.model)
        if body.temperature is not None and not 0 <= body.temperature <= 2:
            raise ApiError("`temperature` must be between 0 and 2", param="temperature")
        if body.top_p is not None and not 0 < body.top_p <= 1:
            raise ApiError("`top_p` must be above 0 and at most 1", param="top_p")
        if not 1 <= body.n <= MOST_PROMPTS:
            raise ApiError(f"`n` must be between 1 and {MOST_PROMPTS}", param="n")
        for name in ("frequency_penalty", "presence_penalty", "logit_bias"):
            if getattr(body, name):
                raise ApiError(f"`{name}` is not supported", param=name)

    def _check_name(self, name: str | None) -> None:
        if name not in (None, "", "embedded", self.name):
            message = f"unknown model `{name}`; available: `{self.name}`"
            raise ApiError(message, status=404, param="model", code="model_not_found")

    def _prompts(self, prompt: str | list[Any], param: str = "prompt") -> list[list[int]]:
        if isinstance(prompt, str):
            return [after_begin(self._begin, self._texts.encode(prompt))]
        if not prompt:
            raise ApiError(f"`{param}` must not be an empty list", param=param)
        if all(isinstance(item, int) for item in prompt):
            return [self._numbers(prompt, param)]
        return [
            after_begin(self._begin, self._texts.encode(item)) if isinstance(item, str) else self._numbers(item, param)
            for item in prompt
        ]

    def _numbers(self, tokens: Any, param: str) -> list[int]:
        if not isinstance(tokens, list) or any(
            isinstance(token, bool) or not isinstance(token, int) for token in tokens
        ):
            raise ApiError(f"`{param}` must be a text, texts, token numbers, or lists of token numbers", param=param)
        if any(not 0 <= token < self._texts.size for token in tokens):
            raise ApiError(f"`{param}` has a token number outside 0 to {self._texts.size - 1}", param=param)
        return tokens

    async def _answers(self, questions: Sequence[Question]) -> list[Completion]:
        try:
            return list(await asyncio.gather(*(self._model.ask(question) for question in questions)))
        except FailureError as error:
            raise _api_error(error) from error

    async def _streamed(
        self, request: web.Request, body: ServedRequest, questions: Sequence[Question], prompts: int, *, chat: bool
    ) -> web.StreamResponse:
        """The answers piece by piece, as they are generated."""

        async def generate(send: Callable[[TextPiece], None]) -> list[Completion]:
            def pieces_of(index: int) -> Callable[[str], None]:
                return lambda text: send((index, text))

            asks = (self._model.ask(question, pieces_of(index)) for index, question in enumerate(questions))
            return list(await asyncio.gather(*asks))

        def usage(completions: Sequence[Completion]) -> dict[str, int] | None:
            return _usage(completions[:: len(completions) // prompts], completions) if _wants_usage(body) else None

        about = self._about_answer("chat.completion.chunk", "chatcmpl") if chat else self._about_answer(*_TEXT)
        try:
            return await send_pieces(request, generate, about, chat_choice if chat else text_choice, usage)
        except FailureError as error:
            raise _api_error(error) from error

    def _about_answer(self, kind: str, prefix: str) -> dict[str, Any]:
        return {
            "id": f"{prefix}-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": self.name,
        }


def _request(body: ServedRequest, most: int | None, alternatives: int | None, **content: Any) -> Request:
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    return Request(
        temperature=body.temperature or 0.0,
        top_p=body.top_p,
        max_tokens=most,
        stop=stop or None,
        seed=randbits(31) if body.seed is None else body.seed,  # without one, each request is a draw of its own
        logprobs=alternatives,
        **content,
    )


def _encoded(vector: Sequence[float], encoding: str) -> list[float] | str:
    """As numbers, or as base64 of 32-bit floats, which OpenAI's own client requests."""
    if encoding == "float":
        return list(vector)
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _repeated(request: Request, count: int) -> list[Request]:
    """The request once for each answer, with its own random numbers."""
    return [msgspec.structs.replace(request, attempt=number + 1) for number in range(count)]


def _usage(prompts: Sequence[Completion], completions: Sequence[Completion]) -> dict[str, int]:
    read = sum(prompt.tokens_in or 0 for prompt in prompts)
    written = sum(completion.tokens_out or 0 for completion in completions)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _check_count(param: str, value: int | None, *, least: int) -> None:
    if value is not None and value < least:
        raise ApiError(f"`{param}` must be at least {least}, got {value}", param=param)


def _alternatives(param: str, value: int) -> int:
    if not 0 <= value <= MOST_ALTERNATIVES:
        raise ApiError(f"`{param}` must be between 0 and {MOST_ALTERNATIVES}, got {value}", param=param)
    return value


async def _body(request: web.Request, kind: Any) -> Any:
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.ValidationError as error:
        raise ApiError(f"the request is invalid: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(f"the request is not JSON: {error}") from error


def _api_error(error: FailureError) -> ApiError:
    failure = error.failure
    if failure.kind == "too_long":
        message = failure.message.removesuffix(f"; {HOW_TO_CUT}")  # a flag of a run, which its clients need not be
        return ApiError(message, code="context_length_exceeded")
    if failure.kind in ("bad_request", "unsupported"):
        return ApiError(failure.message)
    return ApiError(failure.message, status=500, code=failure.kind)


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")


@web.middleware
async def _report_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Report errors in the protocol's format; reject requests to any but a loopback name."""
    try:
        if request.url.host not in _LOOPBACK:
            raise ApiError("this server answers to loopback names only", status=403)
        return await handler(request)
    except ApiError as error:
        return _error(str(error), error.status, error.param, error.code)
    except web.HTTPException as error:
        return _error(f"{error.reason}: {request.method} {request.path}", error.status, None, None)


def _error(message: str, status: int, param: str | None, code: str | None) -> web.Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return _json({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


# -- answers that are complete before they are sent: log-probabilities and echoed prompts are not streamed -----------


async def _sent(
    request: web.Request, body: ServedRequest, answer: dict[str, Any], usage: dict[str, int]
) -> web.StreamResponse:
    if not body.stream:
        return _json({**answer, "usage": usage})
    response = await event_stream.begin(request)
    chat = answer["object"] == "chat.completion"
    about = {**answer, "object": "chat.completion.chunk" if chat else answer["object"]}
    for choice in answer["choices"]:
        piece = {"delta" if name == "message" else name: value for name, value in choice.items()}
        await response.write(event_stream.event({**about, "choices": [piece]}))
    await event_stream.end(response, about, usage if _wants_usage(body) else None)
    return response


def _wants_usage(body: ServedRequest) -> bool:
    return bool((body.stream_options or {}).get("include_usage"))


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
