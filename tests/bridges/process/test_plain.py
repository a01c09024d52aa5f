"""What leaves the process is JSON's own types."""

from __future__ import annotations

import json
import math
from datetime import date

import numpy as np

from assay.bridges.process.plain import plain


def test_what_json_has_no_type_for_becomes_what_it_has() -> None:
    value = {1: (np.float64(0.5), np.array([1, 2])), "when": date(2024, 1, 2), "not": math.nan, "set": {3}}
    found = plain(value)
    assert found == {"1": [0.5, [1, 2]], "when": "2024-01-02", "not": None, "set": [3]}
    assert json.loads(json.dumps(found)) == found
