"""What measurements beside lm-evaluation-harness share: documents, a tokenizer, a server, both programs' commands."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench._lm_eval_documents import COUNT, write_documents

MARK = "<|endoftext|>"


class Setting(NamedTuple):
    """A folder with documents and a tokenizer, and the address of a server."""

    folder: Path
    documents: Path
    tokenizer: Path
    address: str

    def theirs(self, *arguments: str) -> float:
        """Run lm_eval by itself; the processor seconds it took."""
        command = [sys.executable, "-m", "bench._lm_eval_alone", str(self.documents), *arguments]
        return self._run(command, self.folder / "theirs", "lm_eval")

    def ours(self, tasks: Sequence[str], model: str, out: Path, *flags: str) -> float:
        """Run the tasks with assay, asking the server; the processor seconds it took."""
        options = ["mode=completions", f"document_mark={MARK}", "check_likelihoods=false"]
        how = [part for option in options for part in ("--model-arg", option)]
        if "--chat-template" in flags:
            how = []
        return self.ours_local(tasks, f"openai:{model}@{self.address}/v1", out, *how, *flags)

    def ours_local(self, tasks: Sequence[str], model: str, out: Path, *flags: str) -> float:
        """The same with any model."""
        names = [f"lm-eval:{task}" for task in tasks]
        command = [sys.executable, "-m", "assay", "run", *names, "--data", str(self.documents), "--run-dir", str(out)]
        command += ["--model", model, *flags, "--no-cache", "--trust", "--quiet"]
        return self._run(command, self.folder / "ours", "assay")

    def _run(self, command: list[str], home: Path, who: str) -> float:
        home.mkdir(exist_ok=True)
        offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home / "hub"), "ASSAY_CACHE": str(home / "cache")}
        offline["OMP_NUM_THREADS"] = "1"  # threads that wait for each other on a busy machine take time for nothing
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (home / "log.txt").open("a") as log:
            done = subprocess.run(command, stdout=log, stderr=log, env={**os.environ, **offline}, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 3):
            sys.exit(f"{who} ended with {done.returncode}:\n{(home / 'log.txt').read_text()[-3000:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def setting(
    folder: Path, tasks: Sequence[str], *, server: Sequence[str] = (), most_documents: int = COUNT
) -> Iterator[Setting]:
    """Documents of these tasks, a tokenizer made of them, and a server, which ends with this.

    `server` is a module with its arguments whose first line is its address; by default the scripted one.
    """
    documents = folder / "documents"
    write_documents(documents, list(tasks), most_documents)
    tokenizer = _tokenizer(folder / "tokenizer", documents)
    module = server or ("bench._lm_eval_server", str(tokenizer / "tokenizer.json"))
    process = subprocess.Popen(
        [sys.executable, "-m", *module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield Setting(folder, documents, tokenizer, address if "://" in address else f"http://127.0.0.1:{address}")
    finally:
        process.terminate()
        process.communicate()


def _tokenizer(folder: Path, documents: Path) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=3000, special_tokens=[MARK], initial_alphabet=alphabet, show_progress=False
    )
    made.train([str(path) for path in sorted(documents.glob("*/*.jsonl"))], trainer)
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": MARK, "bos_token": MARK}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder
