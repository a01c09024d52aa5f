"""A model of the `transformers` library in this process: batches, chat templates, true log-likelihoods.

`transformers:PATH-OR-NAME` is loaded once, on the first request, in a thread of its own. Batches are padded on the
left, so the last digits of a logit depend on the rest of the batch; `embedded` does not have that problem.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from time import perf_counter
from typing import Any, Literal

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Capabilities, Served
from assay.core.types import Completion, Failure, Request
from assay.models.adapters.options import one_of
from assay.models.adapters.transformers_reading import PrefixReader, ScoredRow
from assay.models.draw_seed import seed_of_draw
from assay.models.likelihood.rolling import window_size, windows
from assay.models.weights_hash import checkpoint, served_from
from assay.printable import one_line

EXTRA = "pip install 'assay-eval[transformers]'"
DEFAULT_MAX_TOKENS = 256


class TransformersModel:
    """A local model of the `transformers` library, with batches and log-likelihoods. Needs the extra `transformers`.

    `transformers:FOLDER` or a name in the library's cache; `offline=false` lets the library download from its hub.
    """

    capabilities = Capabilities(scores_continuations=True)

    def __init__(
        self,
        model: str,
        *,
        mode: Literal["chat", "text"] = "chat",
        max_tokens: int = DEFAULT_MAX_TOKENS,
        dtype: str = "float32",
        device: str = "cpu",
        revision: str | None = None,
        gguf_file: str | None = None,
        offline: bool = True,
    ) -> None:
        """`offline` (the default) downloads nothing: the model must be a folder or in the library's cache."""
        if not model:
            raise UsageError("`transformers` needs a model: `transformers:FOLDER` or `transformers:NAME`")
        for package in ("transformers", "torch"):
            if importlib.util.find_spec(package) is None:
                raise UsageError(f"`transformers:{model}` needs the package `{package}`: {EXTRA}")
        self.name = f"transformers:{model}"
        self._model_name = model
        self._chat = one_of("mode", mode, ("chat", "text")) == "chat"
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
        for place, request in enumerate(requests):
            if request.tools or request.response_format is not None:
                outcomes[place] = self._failed("unsupported", "it takes no tools and no response format")
            elif request.continuation == "":
                outcomes[place] = self._failed("bad_request", "an empty continuation has no likelihood")
            else:
                batches.setdefault(_batch_key(request, place), []).append(place)
        for (scores, *_), places in batches.items():
            batch = [requests[place] for place in places]
            try:
                completions = loaded.score(batch) if scores else loaded.generate(batch, self._chat, self._max_tokens)
            except Exception as error:
                message = f"{type(error).__name__}: {error}"[:500]
                outcomes |= dict.fromkeys(places, self._failed("exception", " ".join(message.split())))
                continue
            outcomes |= zip(places, completions, strict=True)
        return [outcomes[place] for place in range(len(requests))]

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _Loaded(self._model_name, self._dtype, self._device, self._load_options)
        return self._loaded

    def _failed(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage="model", part=self.name, kind=kind, message=one_line(message, 1000)))


def _batch_key(request: Request, place: int) -> tuple[Any, ...]:
    """Whether the request scores a text, and its settings. Requests with the same key are computed together; a sampled
    one is computed alone, with its own seed."""
    if request.continuation is not None:
        return (True,)
    alone = (place,) if request.temperature else ()
    return (False, request.max_tokens, request.stop, request.top_p, request.temperature, request.seed, *alone)


class _Loaded:
    """The library's model and tokenizer."""

    def __init__(self, name: str, dtype: str, device: str, options: dict[str, Any]) -> None:
        import torch
        import transformers

        self._torch = torch
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(name, **options)
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._tokenizer.padding_side = "left"
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=getattr(torch, dtype), **options)
        self._model = model.to(device).eval()
        self._device = device
        self._reader = PrefixReader(self._model, torch, device)

    def generate(self, requests: list[Request], chat: bool, max_tokens: int) -> list[Completion]:
        first = requests[0]
        texts = [self._text(request, chat=chat) for request in requests]
        inputs = self._tokenizer(
            texts, return_tensors="pt", padding=True, add_special_tokens=not chat, return_token_type_ids=False
        )
        inputs = inputs.to(self._device)
        options: dict[str, Any] = {
            "max_new_tokens": first.max_tokens or max_tokens,
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
        seconds = (perf_counter() - started) / len(requests)
        masks = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            self._completion(row.tolist(), int(read), options["max_new_tokens"], first.stop or (), seconds)
            for row, read in zip(generated, masks, strict=True)
        ]

    def score(self, requests: list[Request]) -> list[Completion]:
        """Log-likelihoods: every token that reaches into the continuation counts. A long text is read in windows."""
        started = perf_counter()
        rows = [self._windows(request) for request in requests]
        likelihoods = iter(self._reader.read([*chain.from_iterable(rows)]))
        scores = [[*islice(likelihoods, len(pieces))] for pieces in rows]
        seconds = (perf_counter() - started) / len(requests)
        return [
            Completion(
                text=request.continuation or "",
                logprob=sum(logprob for logprob, _ in scored),
                is_greedy=all(greedy for _, greedy in scored),
                tokens_in=sum(len(row) for row, _ in pieces),
                seconds=seconds,
                raw={"continuation_tokens": sum(len(row) - begin for row, begin in pieces)}
                | ({"windows": len(pieces)} if len(pieces) > 1 else {}),
            )
            for request, pieces, scored in zip(requests, rows, scores, strict=True)
        ]

    def _windows(self, request: Request) -> list[ScoredRow]:
        """The tokens to read, and from which on they are scored: all at once, or window by window."""
        row, begin = self._tokens(request)
        if request.rolling is None:
            return [ScoredRow(row, begin)]
        size, stride = request.rolling
        most = getattr(self._model.config, "max_position_embeddings", None) or len(row)
        cut = windows(row[:begin], row[begin:], size=window_size(size, most), stride=stride)
        return [ScoredRow([*shown, *scored], len(shown)) for shown, scored in cut]

    def _tokens(self, request: Request) -> tuple[list[int], int]:
        """The tokens of prompt and continuation, and where the continuation begins: never at the very first."""
        text = self._text(request, chat=False)
        whole = self._tokenizer(
            text + (request.continuation or ""), return_offsets_mapping=True, add_special_tokens=False
        )
        ids = list(whole["input_ids"])
        begin = sum(1 for _, end in whole["offset_mapping"] if end <= len(text))
        return (ids, begin) if begin else ([self._begin_token(), *ids], 1)

    def _begin_token(self) -> int:
        token = self._tokenizer.bos_token_id
        return int(self._tokenizer.eos_token_id if token is None else token)

    def _text(self, request: Request, *, chat: bool) -> str:
        messages = [{"role": m.role, "content": m.content} for m in request.messages or ()]
        if request.messages is None:
            if not chat or self._tokenizer.chat_template is None:
                return request.prompt or ""
            messages = [{"role": "user", "content": request.prompt or ""}]
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _completion(
        self, tokens: list[int], read: int, most: int, stops: tuple[str, ...], seconds: float
    ) -> Completion:
        ends = {self._tokenizer.eos_token_id, self._tokenizer.pad_token_id}
        length = next((place for place, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._tokenizer.decode(tokens[:length], skip_special_tokens=True)
        cut = min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)
        ended = cut is not None or length < len(tokens) or length < most
        return Completion(
            text=text if cut is None else text[:cut],
            finish_reason="stop" if ended else "length",
            tokens_in=read,
            tokens_out=length,
            seconds=seconds,
        )
