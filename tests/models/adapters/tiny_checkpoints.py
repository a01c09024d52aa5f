"""Tiny random checkpoints for `transformers`, made by the test: with and without a begin token, template and room."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN, END, SAYS = "<s>", "</s>", "<|says|>"
TEMPLATE = (
    "{% for message in messages %}{{ '<|says|>' + message['role'] + '\n' + message['content'] + '</s>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|says|>assistant\n' }}{% endif %}"
)
TEXT = Path(__file__).read_text(encoding="utf-8") + "Question: Answer: the of and 0 1 2 3 4 5 6 7 8 9 A. B. C. D. " * 9


@dataclass(frozen=True)
class Kind:
    """What distinguishes a checkpoint from the others."""

    adds_begin: bool = False
    template: str | None = None
    context: int = 2048
    learned_positions: bool = False


KINDS = {
    "no begin token": Kind(),
    "begin token": Kind(adds_begin=True),
    "template with a begin token": Kind(adds_begin=True, template=f"{{{{ '{BEGIN}' }}}}{TEMPLATE}"),
    "template without it": Kind(adds_begin=True, template=TEMPLATE),
    "context of 128": Kind(adds_begin=True, template=TEMPLATE, context=128),
    "learned positions": Kind(context=128, learned_positions=True),
}


def write_checkpoint(folder: Path, kind: Kind) -> Path:
    """A model and its tokenizer; the same kind is the same model."""
    import torch
    import transformers

    tokenizer = write_tokenizer(folder, kind)
    torch.manual_seed(7)
    sizes = {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 1, "initializer_range": 0.3}
    if kind.learned_positions:
        config: Any = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=kind.context, **sizes)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
        return folder
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=kind.context, **sizes,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def write_tokenizer(folder: Path, kind: Kind) -> Any:
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[BEGIN, END, SAYS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    made.train_from_iterator([TEXT], trainer)
    if kind.adds_begin:
        made.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, 0)])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=BEGIN, eos_token=END, chat_template=kind.template
    )
    tokenizer.save_pretrained(folder)
    return tokenizer
