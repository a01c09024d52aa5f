"""A model of the `transformers` library in this process: batches, chat templates, true log-likelihoods.

`transformers:PATH-OR-NAME` is loaded once, on the first request, in a thread of its own. Batches are padded on the
left, so the last digits of a logit depend on the rest of the batch; `embedded` does not have that problem.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, takewhile
from time import perf_counter
from typing import Any, Literal, NamedTuple

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Served
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.options import one_of
from assay.models.adapters.transformers_reading import PrefixReader, ScoredRow
from assay.models.draw_seed import seed_of_draw
from assay.models.likelihood.rolling import window_size, windows
from assay.models.prompt_fit import CUT_LEFT, TooLongError, fit_prompt, fit_scored, scored_with_whitespace, sent_text
from assay.models.weights_hash import checkpoint, served_from
from assay.text.printable import one_line

EXTRA = "pip install 'assay-eval[transformers]'"
DEFAULT_MAX_TOKENS = 256


class TransformersModel:
    """A local model of the `transformers` library, with batches and log-likelihoods. Needs the extra `transformers`.

    `transformers:FOLDER` or a name in the library's cache; `offline=false` lets the library download from its hub.
    """

    offers = ModelOffers(
        likelihoods="yes",
        renders_prompts=True,
        applies=("temperature", "top_p", "max_tokens", "stop", "seed", "system", "prefill"),
    )

    def __init__(
        self,
        model: str,
        *,
        mode: Literal["chat", "text"] | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        add_bos_token: bool | None = None,
        max_length: int | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        revision: str | None = None,
        gguf_file: str | None = None,
        offline: bool = True,
    ) -> None:
        """`mode=text` sends prompts without the chat template; left out, only tasks that say so are sent that way.

        `add_bos_token` puts the begin token before every text, or before none; left out, the tokenizer decides. A text
        that begins with it gets no second one. `max_length` is the context in tokens, in place of the checkpoint's own.
        `offline` (the default) downloads nothing: the model must be a folder or in the library's cache.
        """
        if not model:
            raise UsageError("`transformers` needs a model: `transformers:FOLDER` or `transformers:NAME`")
        for package in ("transformers", "torch"):
            if importlib.util.find_spec(package) is None:
                raise UsageError(f"`transformers:{model}` needs the package `{package}`: {EXTRA}")
        self.name = f"transformers:{model}"
        self._model_name = model
        self._chat = mode is None or one_of("mode", mode, ("chat", "text")) == "chat"
        if max_length is not None and max_length < 2:
            raise UsageError(f"max_length must be a whole number of at least 2, got {max_length!r}")
        self._reading = _HowToRead(add_bos_token, max_length)
        self._max_tokens = max_tokens
        self._dtype = dtype
        self._device = device
        self._load_options = {
            key: value
            for key, value in (("revision", revision), ("gguf_file", gguf_file), ("local_files_only", offline))
            if value is not None
        }
        self._settings: dict[str, Any] = {
            "adapter": "transformers",
            "model": model,
            "mode": mode,
            "max_tokens": max_tokens,
            "add_bos_token": add_bos_token,
            "max_length": max_length,
            "dtype": dtype,
            "revision": revision,
            "gguf_file": gguf_file,
        }
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="transformers")
        self._loaded: _Loaded | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    async def served(self) -> Served | None:
        """The hash of the weights on this disk; None before the library has downloaded them."""
        folder = checkpoint(self._model_name, self._settings["revision"])
        if folder is None:
            return None
        return await asyncio.to_thread(served_from, folder / (self._settings["gguf_file"] or ""))

    async def generate(self, request: Request) -> Completion:
        outcome = (await self.generate_batch([request]))[0]
        if isinstance(outcome, FailureError):
            raise outcome
        return outcome

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answer, list(requests))

    async def aclose(self) -> None:
        self._loaded = None

    def _answer(self, requests: list[Request]) -> list[Completion | FailureError]:
        try:
            loaded = self._load()
        except Exception as error:
            raise self._failed("exception", f"loading {self._model_name} failed: {error}") from error
        outcomes: dict[int, Completion | FailureError] = {}
        batches: dict[tuple[Any, ...], list[int]] = {}
        prepared: dict[int, _Prepared] = {}
        for place, request in enumerate(requests):
            try:
                prepared[place] = self._prepared(loaded, request)
            except FailureError as error:
                outcomes[place] = error
            else:
                batches.setdefault(_batch_key(request, prepared[place], place), []).append(place)
        for (scores, *_), places in batches.items():
            batch = [(requests[place], prepared[place]) for place in places]
            try:
                completions = loaded.score(batch) if scores else loaded.generate(batch)
            except Exception as error:
                outcomes |= dict.fromkeys(places, self._broken(error))
                continue
            outcomes |= zip(places, completions, strict=True)
        return [outcomes[place] for place in range(len(requests))]

    def _prepared(self, loaded: _Loaded, request: Request) -> _Prepared:
        if request.tools or request.response_format is not None:
            raise self._failed("unsupported", "it takes no tools and no response format")
        if request.continuation == "":
            raise self._failed("bad_request", "an empty continuation has no likelihood")
        try:
            return loaded.prepare(request, self._chat and not request.plain, self._max_tokens)
        except TooLongError as error:
            raise self._failed("too_long", str(error)) from error
        except Exception as error:  # the checkpoint's own template or tokenizer
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> FailureError:
        message = f"{type(error).__name__}: {error}"[:500]
        return self._failed("exception", " ".join(message.split()))

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _Loaded(self._model_name, self._dtype, self._device, self._load_options, self._reading)
        return self._loaded

    def _failed(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="model", part=self.name, kind=kind, message=one_line(message, 1000)))


class _HowToRead(NamedTuple):
    """The model's options that decide which tokens it reads."""

    add_bos_token: bool | None
    max_length: int | None


class _Prepared(NamedTuple):
    """A request in tokens: what is read, from where on it is scored, and the text that was sent."""

    rows: list[ScoredRow]
    """One; or one for each window of a long text."""
    most: int
    """How many tokens may be written after it."""
    sent: str
    cut: int


def _batch_key(request: Request, prepared: _Prepared, place: int) -> tuple[Any, ...]:
    """Whether the request scores a text, and its settings. Requests with the same key are computed together; a sampled
    one is computed alone, with its own seed."""
    if request.continuation is not None:
        return (True,)
    alone = (place,) if request.temperature else ()
    return (False, prepared.most, request.stop, request.top_p, request.temperature, request.seed, *alone)


class _Loaded:
    """The library's model and tokenizer."""

    def __init__(self, name: str, dtype: str, device: str, options: dict[str, Any], reading: _HowToRead) -> None:
        import torch
        import transformers

        self._torch = torch
        begin = {} if reading.add_bos_token is None else {"add_bos_token": reading.add_bos_token}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(name, **options, **begin)
        self._add_bos_token = reading.add_bos_token
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._tokenizer.padding_side = "left"
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=getattr(torch, dtype), **options)
        self._model = model.to(device).eval()
        self._device = device
        self._context = reading.max_length or context_length(model.config, self._tokenizer)
        self._reader = PrefixReader(self._model, torch, device)

    def prepare(self, request: Request, chat: bool, max_tokens: int) -> _Prepared:
        """The tokens of a request; `TooLongError` where they do not fit."""
        if request.continuation is not None:
            return self._prepare_scored(request, request.continuation)
        text = self._text(request, chat=chat)
        tokens = self._encode(text)
        most = request.max_tokens or max_tokens
        fitted = fit_prompt(tokens.ids, context=self._context_for(request), max_tokens=most, too_long=request.too_long)
        if self._context is not None:
            most = max(1, min(most, self._context - len(fitted.tokens)))
        row = ScoredRow(fitted.tokens, len(fitted.tokens))
        return _Prepared([row], most, self._sent(text, tokens, fitted.cut), fitted.cut)

    def _prepare_scored(self, request: Request, continuation: str) -> _Prepared:
        text = self._text(request, chat=False)
        if request.messages is not None:  # what a template ends with
            text, continuation = scored_with_whitespace(text, continuation)
        tokens = self._encode(text + continuation)
        begin = self._scored_from(text, tokens)
        if not begin:  # the first token has nothing before it
            begin = 1
            tokens = tokens if tokens.ids[0] == self._begin_token() else self._after_begin_token(tokens)
        if request.rolling is not None:
            size, stride = request.rolling
            most = (self._context or len(tokens.ids)) + 1  # the last token of a window is predicted, not read
            pieces = windows(tokens.ids[:begin], tokens.ids[begin:], size=window_size(size, most), stride=stride)
            rows = [ScoredRow([*shown, *scored], len(shown)) for shown, scored in pieces]
            return _Prepared(rows, 0, self._sent(text, tokens, 0), 0)
        row, cut = fit_scored(tokens.ids, begin, context=self._context_for(request), too_long=request.too_long)
        return _Prepared([ScoredRow(row, begin - cut)], 0, self._sent(text, tokens, cut), cut)

    def _scored_from(self, text: str, tokens: _Tokens) -> int:
        """Every token that reaches into the continuation counts."""
        if not self._tokenizer.is_fast:  # it cannot say where a token begins
            return len(self._encode(text).ids)
        return sum(1 for _ in takewhile(lambda offset: offset[1] <= len(text), tokens.offsets))

    def _context_for(self, request: Request) -> int | None:
        """A checkpoint that does not say how much it reads is cut as lm_eval cuts it."""
        return self._context or (UNKNOWN_CONTEXT if request.too_long == CUT_LEFT else None)

    def generate(self, batch: Sequence[tuple[Request, _Prepared]]) -> list[Completion]:
        first, most = batch[0][0], batch[0][1].most
        rows = [prepared.rows[0].row for _, prepared in batch]
        inputs = self._padded(rows)
        options: dict[str, Any] = {
            "max_new_tokens": most,
            "do_sample": bool(first.temperature),
            "pad_token_id": self._tokenizer.pad_token_id,
        }
        if first.temperature:
            self._torch.manual_seed(seed_of_draw(first))
            options |= {"temperature": first.temperature, "top_p": first.top_p or 1.0, "top_k": 0}
        if first.stop:
            options |= {"stop_strings": list(first.stop), "tokenizer": self._tokenizer}
        started = perf_counter()
        with self._torch.inference_mode():
            generated = self._model.generate(**inputs, **options)[:, inputs["input_ids"].shape[1] :]
        seconds = (perf_counter() - started) / len(batch)
        return [
            self._completion(row.tolist(), prepared, first.stop or (), seconds)
            for row, (_, prepared) in zip(generated, batch, strict=True)
        ]

    def _padded(self, rows: Sequence[list[int]]) -> dict[str, Any]:
        """Rows of one length, padded on the left."""
        longest, pad = max(map(len, rows)), self._tokenizer.pad_token_id or 0
        ids = [[pad] * (longest - len(row)) + row for row in rows]
        mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
        columns = {"input_ids": ids, "attention_mask": mask}
        return {name: self._torch.tensor(column, device=self._device) for name, column in columns.items()}

    def score(self, batch: Sequence[tuple[Request, _Prepared]]) -> list[Completion]:
        """Log-likelihoods. A long text is read in windows."""
        started = perf_counter()
        likelihoods = iter(self._reader.read([*chain.from_iterable(prepared.rows for _, prepared in batch)]))
        scores = [[*islice(likelihoods, len(prepared.rows))] for _, prepared in batch]
        seconds = (perf_counter() - started) / len(batch)
        return [
            Completion(
                text=request.continuation or "",
                logprob=sum(logprob for logprob, _ in scored),
                is_greedy=all(greedy for _, greedy in scored),
                tokens_in=sum(len(row) for row, _ in prepared.rows),
                seconds=seconds,
                sent=prepared.sent,
                cut=prepared.cut,
                raw={"continuation_tokens": sum(len(row) - begin for row, begin in prepared.rows)}
                | ({"windows": len(prepared.rows)} if len(prepared.rows) > 1 else {}),
            )
            for (request, prepared), scored in zip(batch, scores, strict=True)
        ]

    def _encode(self, text: str) -> _Tokens:
        """The text's tokens, after the begin token where the tokenizer or the user puts one, and never after two."""
        bos = self._tokenizer.bos_token
        adds = self._add_bos_token is not False and not (bos and text.startswith(bos))
        encoded = self._tokenizer(
            text, add_special_tokens=adds, return_offsets_mapping=self._tokenizer.is_fast, verbose=False
        )
        ids = list(encoded["input_ids"])
        offsets = list(encoded["offset_mapping"]) if self._tokenizer.is_fast else [(0, len(text))] * len(ids)
        added = sum(1 for _ in takewhile(lambda offset: tuple(offset) == (0, 0), offsets))
        tokens = _Tokens(ids, offsets, added)
        return self._after_begin_token(tokens) if not added and (not ids or (self._add_bos_token and adds)) else tokens

    def _after_begin_token(self, tokens: _Tokens) -> _Tokens:
        return _Tokens([self._begin_token(), *tokens.ids], [(0, 0), *tokens.offsets], 1)

    def _sent(self, text: str, tokens: _Tokens, cut: int) -> str:
        if not self._tokenizer.is_fast:
            return str(self._tokenizer.decode(self._encode(text).ids[cut:]))
        added = str(self._tokenizer.decode(tokens.ids[: tokens.added])) if tokens.added else ""
        return sent_text(text, tokens.offsets[tokens.added :], added=added, added_tokens=tokens.added, cut=cut)

    def _begin_token(self) -> int:
        token = self._tokenizer.bos_token_id
        return int(self._tokenizer.eos_token_id if token is None else token)

    def _text(self, request: Request, *, chat: bool) -> str:
        messages = [{"role": m.role, "content": m.content} for m in request.messages or ()]
        if request.messages is None:
            if not chat or self._tokenizer.chat_template is None:
                return request.prompt or ""
            messages = [{"role": "user", "content": request.prompt or ""}]
        begun = messages[-1]["role"] == "assistant"  # the answer goes on after its beginning
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
            )
        )

    def _completion(self, tokens: list[int], prepared: _Prepared, stops: tuple[str, ...], seconds: float) -> Completion:
        ends = {self._tokenizer.eos_token_id, self._tokenizer.pad_token_id}
        length = next((place for place, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._tokenizer.decode(tokens[:length], skip_special_tokens=True)
        cut = min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)
        ended = cut is not None or length < len(tokens) or length < prepared.most
        return Completion(
            text=text if cut is None else text[:cut],
            finish_reason="stop" if ended else "length",
            tokens_in=len(prepared.rows[0].row),
            tokens_out=length,
            seconds=seconds,
            sent=prepared.sent,
            cut=prepared.cut,
        )


class _Tokens(NamedTuple):
    """A text's tokens, the part of the text that each stands for, and how many were added before it."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    added: int


UNKNOWN_CONTEXT = 2048
"""What lm_eval takes for the context of a checkpoint that does not say."""
_NO_LENGTH = 10**12
"""A tokenizer without a limit states a larger one."""


def context_length(config: Any, tokenizer: Any) -> int | None:
    """How many tokens a checkpoint reads, by the same fields as in lm_eval; None where none of them says."""
    config = getattr(config, "text_config", None) or config
    stated = (getattr(config, name, None) for name in ("n_positions", "max_position_embeddings", "n_ctx"))
    length = next((length for length in stated if length is not None), None)
    if length is None:
        length = getattr(tokenizer, "model_max_length", _NO_LENGTH)
    return None if length is None or length >= _NO_LENGTH else int(length)
