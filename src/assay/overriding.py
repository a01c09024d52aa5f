"""`typing.override` of Python 3.12, for 3.11: marks a method that replaces one of its base class.

mypy refuses a mark on a method that replaces nothing, and a replacement without the mark. A method that was renamed in
the base class alone is therefore an error, and not a method that is never called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method):
        return method


__all__ = ["override"]
