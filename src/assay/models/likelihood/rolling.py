"""Texts longer than a model's context: windows in which every token is scored exactly once, with what fits before it.

windows([0], [1, 2, 3, 4, 5, 6], size=4, stride=0)   ->   ([0], [1, 2, 3]), ([3], [4, 5, 6])
windows([0], [1, 2, 3, 4, 5, 6], size=4, stride=2)   ->   ([0], [1, 2, 3]), ([2, 3], [4, 5]), ([3, 4, 5], [6])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Window = tuple[list[int], list[int]]
"""What is only read, and what is scored after it."""


def windows(before: Sequence[int], text: Sequence[int], *, size: int, stride: int = 0) -> Iterator[Window]:
    """Windows of at most `size` tokens over `before` (at least one token) and the `text` that is scored.

    The first scores as much as fits; each further one moves on by `stride` tokens and reads as much as fits before
    them, so the last one reads the most. A stride of 0 moves on by all but one token: the fewest windows, the way
    most published perplexities of long texts were computed. A smaller one costs more and shows each token more.
    """
    if not before or size < 2:
        raise ValueError("a window needs a token to read and one to score")
    step = min(stride or size - 1, size - 1)
    tokens = [*before, *text]
    begin, end = len(before), min(len(tokens), max(size, len(before) + step))
    while begin < len(tokens):
        yield tokens[max(0, end - size) : begin], tokens[begin:end]
        begin, end = end, min(len(tokens), end + step)


def window_size(asked: int, most: int) -> int:
    """How long windows are: as the task says, or as the model can, and never longer than that."""
    return min(asked or most, most)
