"""What attempts cost, for whole columns of them at once: the rule of `cost_of`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.costs.prices import Quote


def costs_of(
    quote: Quote | None,
    *,
    tokens_in: NDArray[Any],
    tokens_out: NDArray[Any],
    from_server_cache: NDArray[Any],
    uncounted: NDArray[Any],
) -> NDArray[np.float64]:
    """NaN where the cost is unknown: there is no price, or no answer came with a count."""
    if quote is None:
        return np.full(len(tokens_in), np.nan)
    tokens: list[Any] = [column.astype(np.float64) for column in (tokens_in, tokens_out, from_server_cache)]
    costs = np.asarray(quote.price.of(*tokens), np.float64)
    if not quote.price.is_free:
        costs[(uncounted > 0) & (tokens[0] + tokens[1] == 0)] = np.nan
    return costs
