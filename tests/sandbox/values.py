"""Values, and the way through the pipe."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from assay.sandbox.compare import check_shape
from assay.sandbox.inside.values import encode

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False).filter(
        lambda d: abs(d.as_tuple().exponent) < 900 and len(d.as_tuple().digits) < 900 if d.is_finite() else True
    )
    | st.fractions()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


def through_the_pipe(value: Any) -> Any:
    tree = json.loads(json.dumps(encode(value)))
    check_shape(tree)
    return tree
