"""Replies and frames that a candidate might forge, as strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from assay.sandbox import Expressions, IoPairs, Limits, Program, TestProgram

RIGHT = 918_273_645
"""What the tests want, and no strategy below makes."""


OBJECTS = "type(p).__name__ == type(q).__name__ == 'Handle'"
"""Any constant is equal to itself: where two answers are compared, only objects must not be."""


TESTS = [
    "x = [70313, 11, 40077]\nassert f(x) == sorted(x)",
    f"r = f(7)\nassert r == {RIGHT}, r",
    f"r = f(3)\nassert len(r) == 3\nassert list(r) == [{RIGHT}] * 3",
    f"r = f(3)\nassert len(r) == 2\nassert (r[0], r[1]) == ({RIGHT}, {RIGHT})",
    f"p, q = P(1), P(2)\nassert {OBJECTS} and (p == q or p + q == P(3))",
    f"p, q = P(1), P(2)\nassert {OBJECTS} and ([p] == [q] or p in {{q: 1}} or p in [q])",
    f"try:\n    f(-1)\nexcept ValueError as e:\n    assert e.args == ({RIGHT},), e\nelse:\n    assert False, f(1)",
    f"try:\n    f(1)\nexcept E:\n    assert g(2) == {RIGHT}\nelse:\n    assert g(3) == {RIGHT}",
    f"assert g(f(1), k=f(2)) == {RIGHT}, f(3)",
    f"r = f(1)\nassert g(r.pop) == {RIGHT}",
    "x = [1]\nf(x)\nassert type(x[0]).__name__ == 'Handle'",
    f"x = {{'a': 1}}\nf(x)\nassert x == {{'a': {RIGHT}}}, x",
    f"assert f(**g(1)) == {RIGHT}",
    f"r = f(1)\nassert str(r) == '{RIGHT}' or float(r) == {RIGHT} or r.real.value == {RIGHT}",
]


PROGRAMS: list[Program] = [
    *(TestProgram(code="", tests=tests) for tests in TESTS),
    TestProgram(code="", tests=f"r = f(1)\nassert g(r) == {RIGHT} and r == f(2)", unsplittable="weak"),
    Expressions(code="", targets=(f"f(2) + 1 == {RIGHT + 1}", f"g(3) is f(4) and f(5) == {RIGHT}")),
    IoPairs(code="", pairs=((1, RIGHT), (2, [RIGHT, {"a": 1.5}]), (3, {"a": [RIGHT]}))),
    IoPairs(code="", pairs=((1, float(RIGHT)), ([1], [float(RIGHT)])), tolerance=1e-6),
    Expressions(code="", targets=(f"f(1) == {{{RIGHT}, 2}}", f"f(2) == ({RIGHT}, b'x', 1j)")),
]


LIMITS = Limits(cpu_seconds=5, wall_seconds=60, calls=40)


CASES_EACH = 8
"""Programs that one generated script is tried on."""


SETTINGS = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)


def tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner, max_size=3)
    pairs = st.lists(st.tuples(inner, inner).map(list), max_size=2)
    return (
        st.tuples(st.sampled_from(["l", "t", "s", "z", "q"]), items).map(list)
        | pairs.map(lambda found: ["d", found])
        | items
        | st.dictionaries(st.sampled_from(["a", "value", "id"]), inner, max_size=2)
    )


DEEP: Any = 1


LEAVES = st.sampled_from(
    [
        None, True, False, 0, 1, 3, -7, 2**60, 10**400, 1.5, "", "a", "f", "\ud800", "\x00",
        ["D", 0, "", "N"], ["D", 1, "15", -1], ["D", 0, "1", 10**9], ["D", 0, "x", 0], ["D", [], {}, None],
        ["F", [1, 3]], ["F", [1, 0]], ["F", [["F", [1, 2]], 1]], ["r", [0, 3, 1]], ["r", [0, 3, 0]],
        ["i", "0xffffffffffffffffffff"],
        ["i", "z"], ["i", 5], ["i", "0x" + "f" * 4_000], ["f", "nan"], ["f", "0x1.8p+0"], ["f", "inf"], ["f", []],
        ["c", "nan", "0x0p+0"], ["S", "7aCA"], ["S", "?"], ["b", "QQ=="], ["ba", "QQ=="], ["T", "int"], ["T", "os"],
        ["h", 0, "f"], ["h", 1, "g"], ["h", 0, "int"], ["h", -1, "x"], ["h", 10**9, "x"], ["h", "0", "x"], ["h", 0],
        ["o", "x"], ["o", {}], ["o", ["x"]], ["da", [1, 1, 1]], ["da", [0]], ["dt", [2024, 1, 1, 0, 0, 0, 0], None],
        ["dt", [2024, 1, 1], 10**30], ["tm", [1, 2, 3, 4], 60], ["td", [1, 2, 3]], ["td", [10**30]], ["l"], ["?"], [[]],
        ["l", None], ["d", [[1]]], ["d", [1]], ["l", [0] * 70], ["s", [["l", []]]], ["d", [[["l", []], 1]]], DEEP,
    ]
)  # fmt: skip


TREES = st.recursive(LEAVES, tagged, max_leaves=5)


TYPES = st.lists(
    st.sampled_from(
        ["ValueError", "KeyError", "E", "StopIteration", "SystemExit", "AssertionError", "OSError", "print"]
    )
    | LEAVES,
    max_size=3,
)


ERRORS = (
    st.fixed_dictionaries(
        {}, optional={"types": TYPES, "message": LEAVES, "args": st.lists(TREES, max_size=2), "line": LEAVES}
    )
    | LEAVES
)


NAMES = st.lists(
    st.fixed_dictionaries({}, optional={"tree": TREES, "missing": st.booleans(), "exception": TYPES})
    | st.builds(lambda tree: {"tree": tree}, LEAVES)
    | LEAVES,
    min_size=3,
    max_size=3,
)


REPLIES = st.fixed_dictionaries(
    {},
    optional={
        "value": TREES,
        "changed": st.lists(TREES, max_size=2) | LEAVES,
        "error": ERRORS,
        "limit": LEAVES,
        "values": NAMES,
        "loaded": st.just(True),
        "ran": st.just(True),
        "syntax": ERRORS,
        "id": LEAVES,
        "verdict": LEAVES,
    },
)


VALUES = st.builds(lambda tree: {"value": tree}, TREES)


HANDLES = st.builds(lambda number: {"value": ["h", number, "P"]}, st.integers(0, 1))


EMPTIED = st.sampled_from([["l", []], ["d", []], ["l", [["h", 0, "f"]]], None]).flatmap(
    lambda tree: st.just({"value": tree, "changed": [tree]}) | st.just({"value": None, "changed": [tree]})
)


RAW = st.binary(max_size=12) | st.sampled_from([b"{}", b"[]", b"NaN", b'"\xff"', b"[" * 2_000, b'{"id": "\\ud800"}'])


WORDS = VALUES | HANDLES | REPLIES | EMPTIED | st.builds(lambda error: {"error": error}, ERRORS) | RAW


SCRIPTS = (
    st.lists(WORDS, min_size=1, max_size=4)
    | st.builds(lambda tree: [{"value": tree}], LEAVES)
    | st.builds(lambda word: [word], EMPTIED)
)
"""What it answers, over and over; one and the same thing every time is worth trying often."""
