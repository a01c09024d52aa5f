"""Windows over texts longer than a model's context: every token is scored exactly once, with what fits before it.

windows([0], [1, 2, 3, 4, 5, 6], size=4, stride=0)   ->   ([0], [1, 2, 3]), ([3], [4, 5, 6])
windows([0], [1, 2, 3, 4, 5, 6], size=4, stride=2)   ->   ([0], [1, 2, 3]), ([2, 3], [4, 5]), ([3, 4, 5], [6])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Window = tuple[list[int], list[int]]
"""What is only read, and what is scored after it."""


def windows(before: Sequence[int], text: Sequence[int], *, size: int, stride: int = 0) -> Iterator[Window]:
    """Windows of at most `size` tokens over `before` (at least one token) and the `text` that is scored.

    The first window scores as much as fits; each further one scores the next `stride` tokens and reads as much as fits
    before them. A stride of 0 means all but one token: the fewest windows, and the way most published perplexities of
    long texts were computed. A smaller stride costs more and gives each token more context.
    """
    if not before or size < 2:
        raise ValueError("a window needs a token to read and one to score")
    step = min(stride or size - 1, size - 1)
    tokens = [*before, *text]
    begin, end = len(before), min(len(tokens), max(size, len(before) + step))
    while begin < len(tokens):
        yield tokens[max(0, end - size) : begin], tokens[begin:end]
        begin, end = end, min(len(tokens), end + step)


def window_size(requested: int, most: int) -> int:
    """The size of windows: the requested one (0: the largest), and at most that of the model's context."""
    return min(requested or most, most)
