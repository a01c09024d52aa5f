"""A tiny random llama-type model that a test makes itself, and the most straightforward way to compute with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SHAPE: dict[str, Any] = {
    "layers": 3,
    "width": 32,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 8,
    "feed_forward": 48,
    "vocabulary": 262,
    "context": 96,
    "rope_base": 10_000.0,
    "norm_epsilon": 1e-5,
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tensors(seed: int = 0) -> dict[str, Any]:
    """By the names of the published file format; matrices are (out, in)."""
    rng = np.random.default_rng(seed)
    width, head, ff = SHAPE["width"], SHAPE["head_width"], SHAPE["feed_forward"]

    def matrix(out: int, inward: int) -> Any:
        return (rng.standard_normal((out, inward)) * inward**-0.5 * 1.5).astype(np.float32)

    def norm() -> Any:
        return rng.uniform(0.5, 1.5, width).astype(np.float32)

    found = {"token_embd": matrix(SHAPE["vocabulary"], width), "output_norm": norm()}
    for number in range(SHAPE["layers"]):
        block = f"blk.{number}."
        found |= {
            f"{block}attn_norm": norm(),
            f"{block}attn_q": matrix(SHAPE["heads"] * head, width),
            f"{block}attn_k": matrix(SHAPE["kv_heads"] * head, width),
            f"{block}attn_v": matrix(SHAPE["kv_heads"] * head, width),
            f"{block}attn_output": matrix(width, SHAPE["heads"] * head),
            f"{block}ffn_norm": norm(),
            f"{block}ffn_gate": matrix(ff, width),
            f"{block}ffn_up": matrix(ff, width),
            f"{block}ffn_down": matrix(width, ff),
        }
    return found


def byte_symbols() -> list[str]:
    """The printable stand-in of every byte in byte-level vocabularies, in the order of the bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    symbol = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [symbol[byte] for byte in range(256)]


def vocabulary() -> list[str]:
    return [*SPECIAL, *byte_symbols(), "th", "the", "in"]


def write_gguf(path: Path, seed: int = 0) -> Path:
    """The model as a published file."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(SHAPE["layers"])
    writer.add_context_length(SHAPE["context"])
    writer.add_embedding_length(SHAPE["width"])
    writer.add_feed_forward_length(SHAPE["feed_forward"])
    writer.add_head_count(SHAPE["heads"])
    writer.add_head_count_kv(SHAPE["kv_heads"])
    writer.add_rope_freq_base(SHAPE["rope_base"])
    writer.add_rope_dimension_count(SHAPE["head_width"])
    writer.add_layer_norm_rms_eps(SHAPE["norm_epsilon"])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary())
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(vocabulary()) - len(SPECIAL)))
    writer.add_token_merges(["t h", "th e", "i n"])
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    for name, data in tensors(seed).items():
        writer.add_tensor(f"{name}.weight", data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_folder(folder: Path, seed: int = 0) -> Path:
    """The model as the engine maps it, written without the package's own converter."""
    folder.mkdir(parents=True, exist_ok=True)
    found = tensors(seed)
    parts: dict[str, Any] = {"embedding": found["token_embd"]}
    for number in range(SHAPE["layers"]):
        block = f"blk.{number}."
        parts |= {
            f"{number}.attention_norm": found[f"{block}attn_norm"],
            f"{number}.query_key_value": np.concatenate([found[f"{block}attn_{part}"] for part in "qkv"]),
            f"{number}.attention_out": found[f"{block}attn_output"],
            f"{number}.feed_norm": found[f"{block}ffn_norm"],
            f"{number}.gate_up": np.concatenate([found[f"{block}ffn_gate"], found[f"{block}ffn_up"]]),
            f"{number}.down": found[f"{block}ffn_down"],
        }
    parts["final_norm"] = found["output_norm"]
    places, offset = {}, 0
    with (folder / "weights.f32").open("wb") as file:
        for name, array in parts.items():
            places[name] = (offset, list(array.shape))
            file.write(array.tobytes())
            offset += array.size
    (folder / "model.json").write_text(json.dumps({"shape": SHAPE, "tensors": places}))
    return folder


def reference_logits(tokens: list[int], seed: int = 0) -> Any:
    """Every token's logits in double precision, position by position, head by head: slow and plain."""
    weights = {name: array.astype(np.float64) for name, array in tensors(seed).items()}
    rows = [weights["token_embd"][token] for token in tokens]
    for number in range(SHAPE["layers"]):
        rows = _layer(rows, {key.split(".")[2]: value for key, value in weights.items() if f"blk.{number}." in key})
    return np.array([weights["token_embd"] @ _norm(row, weights["output_norm"]) for row in rows])


def _layer(rows: list[Any], w: dict[str, Any]) -> list[Any]:
    heads, group, width = SHAPE["heads"], SHAPE["heads"] // SHAPE["kv_heads"], SHAPE["head_width"]
    normed = [_norm(row, w["attn_norm"]) for row in rows]
    keys = [[_turn(k, position) for k in (w["attn_k"] @ x).reshape(-1, width)] for position, x in enumerate(normed)]
    values = [(w["attn_v"] @ x).reshape(-1, width) for x in normed]
    out = []
    for position, row in enumerate(rows):
        queries = [_turn(q, position) for q in (w["attn_q"] @ normed[position]).reshape(-1, width)]
        mixed = []
        for head in range(heads):
            scores = np.array([queries[head] @ keys[t][head // group] for t in range(position + 1)]) / width**0.5
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            mixed.append(sum(share * values[t][head // group] for t, share in enumerate(shares)))
        seen = row + w["attn_output"] @ np.concatenate(mixed)
        x = _norm(seen, w["ffn_norm"])
        gate = w["ffn_gate"] @ x
        out.append(seen + w["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (w["ffn_up"] @ x)))
    return out


def _norm(row: Any, weight: Any) -> Any:
    return row / np.sqrt((row * row).mean() + SHAPE["norm_epsilon"]) * weight


def _turn(vector: Any, position: int) -> Any:
    turned = vector.copy()
    for pair in range(len(vector) // 2):
        angle = position * SHAPE["rope_base"] ** (-2 * pair / len(vector))
        a, b = vector[2 * pair], vector[2 * pair + 1]
        turned[2 * pair] = a * np.cos(angle) - b * np.sin(angle)
        turned[2 * pair + 1] = a * np.sin(angle) + b * np.cos(angle)
    return turned
