"""Two checkpoints of a model that can be run anywhere: small functions that make the mistakes models make."""

import re


def before(prompt: str) -> str:
    """Adds column by column and forgets every second carry; spells short words backwards."""
    if match := re.search(r"(\d+) \+ (\d+)", prompt):
        return _add(int(match[1]), int(match[2]), carries_kept=1)
    word = prompt.split("`")[1]
    return word[::-1] if len(word) < 7 else word[:-4][::-1] + word[-4:]


def after(prompt: str) -> str:
    """Carries correctly, but is a little worse at spelling."""
    if match := re.search(r"(\d+) \+ (\d+)", prompt):
        return str(int(match[1]) + int(match[2]))
    word = prompt.split("`")[1]
    return word[::-1] if len(word) < 7 and word[0] not in "ko" else word


def unreachable(prompt: str) -> str:
    """Like `after`, behind a server that drops some requests."""
    if prompt.split("`")[-2:-1] in (["lamp"], ["river"], ["wagon"]):
        raise ConnectionError("the server closed the connection")
    return after(prompt)


def _add(left: int, right: int, carries_kept: int) -> str:
    digits, carry = "", 0
    while left or right or carry:
        column = left % 10 + right % 10 + carry
        digits = str(column % 10) + digits
        carry = column // 10 if carries_kept > 0 else 0
        carries_kept -= column // 10
        left, right = left // 10, right // 10
    return digits
