"""What a program may import where its task has not lifted the rule."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Iterator

import pytest

from assay.sandbox import Expressions, IoPairs, Limits, Outcome, Program, Sandbox, Stdout, TestProgram
from assay.sandbox.inside.imports import PURE, REFUSAL

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

LIMITS = Limits(cpu_seconds=10)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(workers=1)
    box.start_here()
    yield box
    box.close()


def run(sandbox: Sandbox, program: Program) -> Outcome:
    return asyncio.run(sandbox.run(program, LIMITS))


def of(code: str, imports: tuple[str, ...] | None = ()) -> IoPairs:
    return IoPairs(code=code, pairs=((1, 2), (3, 6)), imports=imports)


DOUBLE = "def f(x): return x * 2"


@pytest.mark.parametrize("name", sorted(PURE - {"__future__"}))
def test_every_pure_module_can_be_imported(sandbox: Sandbox, name: str) -> None:
    assert run(sandbox, of(f"import {name}\nfrom {name} import *\n{DOUBLE}")).outcome == "pass"


WAYS_IN = [
    "import os",
    "import os.path",
    "import os as harmless",
    "from os import path",
    "import math, os",
    "from posix import system",
    "import subprocess",
    "import threading",
    "import ctypes",
    "import importlib",
    "import builtins",
    "from urllib import request",
    "import urllib.request",
    "import numpy",
    "import nowhere.at_all",
    "__import__('os')",
    "__import__('os', fromlist=['path'])",
    "__import__('os', None, None, [])",
    "__builtins__['__import__']('os')",
    "exec('import os')",
    "exec('import os', {})",
    "eval('__import__(\"os\")')",
    "exec(compile('import os', 'x', 'exec'))",
    "type(f)(compile('import os', 'x', 'exec'), {})()",
    "class C:\n    import os",
]


@pytest.mark.parametrize("way", WAYS_IN)
def test_anything_else_is_wrong_with_the_reason(sandbox: Sandbox, way: str) -> None:
    outcome = run(sandbox, of(f"{DOUBLE}\n{way}"))
    assert (outcome.outcome, outcome.share) == ("wrong", 0.0)
    assert [check.outcome for check in outcome.checks] == ["wrong", "wrong"]
    assert all(REFUSAL in check.detail for check in outcome.checks)


WAYS_ROUND = [
    "import random; random._os",
    "import typing; typing.sys.modules",
    "import contextlib; contextlib.os",
    "import enum; enum.bltns.__import__('os')",
    "import json; json.codecs.builtins",
    "import json.decoder; json.decoder.scanner.sys",
    "import collections; collections._sys.modules",
    "import random; random.__builtins__['__import__']('os')",
    "import math; math.__loader__.load_module('posix')",
    "import math; math.__spec__.loader.load_module('posix')",
    "import sys; sys.modules['os']",
    "import sys; sys._getframe()",
    "from sys import modules",
    "import urllib; urllib.request",
]


@pytest.mark.parametrize("way", WAYS_ROUND)
def test_what_a_pure_module_imports_for_itself_is_not_shown(sandbox: Sandbox, way: str) -> None:
    code = f"def f(x):\n    {way}\n    return x * 2"
    outcome = run(sandbox, of(code))
    assert outcome.share == 0.0
    assert {check.outcome for check in outcome.checks} <= {"runtime_error", "wrong"}


def test_a_program_that_goes_on_without_the_module_passes(sandbox: Sandbox) -> None:
    for error in ("ImportError", "Exception"):
        assert run(sandbox, of(f"try: import os\nexcept {error}: os = None\n{DOUBLE}")).outcome == "pass"
    code = f"try: import numpy\nexcept ModuleNotFoundError: numpy = None\n{DOUBLE}"
    assert run(sandbox, of(code)).outcome == "pass"


def test_an_import_in_one_call_costs_that_pair_only(sandbox: Sandbox) -> None:
    outcome = run(sandbox, of("def f(x):\n    if x == 3: import os\n    return x * 2"))
    assert [check.outcome for check in outcome.checks] == ["pass", "wrong"]
    assert "ImportError: `os`" in outcome.checks[1].detail
    assert "line 2" in outcome.checks[1].detail


SHAPES = [
    Stdout(code="import os\nprint(2)", expected=("2",), imports=()),
    Expressions(code=f"import os\n{DOUBLE}", targets=("f(1) == 2",), imports=()),
    Expressions(code="def f(x):\n    import os\n    return 2", targets=("len([f(1)]) == 1",), imports=()),
    TestProgram(code=f"import os\n{DOUBLE}", tests="assert f(1) == 2", imports=()),
    TestProgram(code="def f(x):\n    import os\n    return 2", tests="x = f(1)\nassert x == 2", imports=()),
    TestProgram(
        code="def f(x):\n    import os\n    return 2",
        tests="import inspect\nassert inspect.getsource(f) and f(1) == 2",
        unsplittable="weak",
        imports=(),
    ),
]


@pytest.mark.parametrize("program", SHAPES, ids=range(len(SHAPES)))
def test_the_rule_holds_in_every_shape(sandbox: Sandbox, program: Program) -> None:
    outcome = run(sandbox, program)
    assert (outcome.outcome, outcome.share) == ("wrong", 0.0)
    assert "ImportError: `os` is not available" in outcome.checks[0].detail


def test_a_task_can_lift_the_rule_or_allow_more(sandbox: Sandbox) -> None:
    code = f"import os.path, threading\n{DOUBLE}"
    assert run(sandbox, of(code, None)).outcome == "pass"
    assert run(sandbox, of(code, ("os", "threading"))).outcome == "pass"
    assert run(sandbox, of(code, ("threading",))).outcome == "wrong"
    assert run(sandbox, of(f"from os import path\npath.join('a', 'b')\n{DOUBLE}", ("os.path",))).outcome == "pass"
    assert run(sandbox, of(f"from os import system\n{DOUBLE}", ("os.path",))).outcome == "wrong"


def test_the_authors_own_code_imports_what_it_likes(sandbox: Sandbox) -> None:
    prelude = "import os\nfrom os.path import join\ndef helper(x):\n    import shlex\n    return shlex.quote(x)\n"
    tests = "import subprocess\nx = f('a')\nassert x == 'a' and subprocess"
    code = "def f(x): return helper(x)"
    assert run(sandbox, TestProgram(code=code, prelude=prelude, tests=tests, imports=())).outcome == "pass"
    strict = TestProgram(code=f"import threading\n{code}", prelude=prelude, tests=tests, imports=())
    assert run(sandbox, strict).outcome == "wrong"
    together = "import inspect, os\nassert inspect.isfunction(f) and f(1) == 2"
    program = TestProgram(code=DOUBLE, tests=together, unsplittable="weak", imports=())
    assert run(sandbox, program).outcome == "pass"


HONEST = """
from __future__ import annotations
import sys, io, re, json, math, time, copy, queue, string, random, decimal, datetime, calendar, warnings, typing, ast
import collections, collections.abc, contextlib, dataclasses, enum, functools, itertools, operator, statistics, hashlib
import urllib.parse, html.parser, json.decoder
from array import array
from dataclasses import dataclass, field, InitVar
from typing import ClassVar, NamedTuple, get_type_hints
from fractions import Fraction
from html import parser as html_parser

@dataclass(order=True)
class Point:
    x: int
    shared: typing.ClassVar[int] = 7
    once: dataclasses.InitVar[int] = 3
    names: list[str] = field(default_factory=list)
    def __post_init__(self, once): self.once_was = once

class Colour(enum.Enum):
    RED = enum.auto()
class Pair(NamedTuple):
    a: int
    b: int = 2
Named = collections.namedtuple('Named', 'x y')

@functools.singledispatch
def kind(value): return 'other'
@kind.register
def _(value: int): return 'int'

class Counting(html_parser.HTMLParser):
    tags = 0
    def handle_starttag(self, tag, attrs): self.tags += 1

def steps():
    yield [f.name for f in dataclasses.fields(Point)] == ['x', 'names'], Point(1, 5).once_was == 5, Point.shared == 7
    yield Colour.RED.value == 1, Pair(1) == (1, 2), Named(1, 2).y == 2, kind(3) == 'int'
    yield get_type_hints(Pair) == {'a': int, 'b': int}
    yield datetime.datetime.strptime('2024-02-29', '%Y-%m-%d').weekday() == 3
    yield time.strptime('2024', '%Y').tm_year == 2024, calendar.isleap(2024)
    yield datetime.datetime.now(datetime.timezone.utc).tzname() == 'UTC', datetime.datetime.now() is not None
    yield copy.deepcopy(array('i', [1, 2]))[1] == 2, copy.copy(Fraction(1, 2)) == Fraction(1, 2)
    yield copy.deepcopy({'a': [Point(1)]}) is not None, copy.deepcopy(re.compile('a')) is not None
    yield format(decimal.Decimal('1234.5'), ',') == '1,234.5', format(1234567, 'n') is not None
    yield round(statistics.stdev([1, 2, 3])) == 1, math.comb(5, 2) == 10
    yield json.loads(json.dumps({'a': 1.5})) == {'a': 1.5}, ast.literal_eval('[1]') == [1]
    yield hashlib.sha256(b'').hexdigest()[:4] == 'e3b0', urllib.parse.quote('ä') == '%C3%A4'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always'); warnings.warn('careful')
    yield len(caught) == 1
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print('a'); sys.stdout.write('b')
    yield out.getvalue() == 'a\\nb'
    before, sys.stdout = sys.stdout, io.StringIO()
    print('hidden'); hidden, sys.stdout = sys.stdout.getvalue(), before
    yield hidden == 'hidden\\n', sys.maxsize > 2**40, sys.version_info >= (3, 11)
    sys.setrecursionlimit(5000)
    yield sys.getrecursionlimit() == 5000, sys.stdin.read() == ''
    counter = Counting(); counter.feed('<a><b></b></a>')
    yield counter.tags == 2, isinstance([], collections.abc.Sequence)
    q = queue.PriorityQueue(); q.put(2); q.put(1)
    yield q.get() == 1, random.Random(1).random() == random.Random(1).random(), string.ascii_letters[0] == 'a'
    yield 'a'.encode('rot13' if False else 'utf-16') is not None, 'ß'.encode('idna') is not None
    yield '{:%Y}'.format(datetime.date(2024, 1, 1)) == '2024', str(datetime.timedelta(1)) == '1 day, 0:00:00'
    yield exec('import math\\nroot = math.sqrt(4)', space := {}) is None and space['root'] == 2
    try: compile('(', 'x', 'exec')
    except SyntaxError as error: yield str(error) != ''
    try: open('/etc/passwd')
    except OSError: yield True
    yield "".join(map(str, itertools.accumulate([1, 2], operator.add))) == '13'

def f(x):
    held = [bool(all(step)) if isinstance(step, tuple) else bool(step) for step in steps()]
    return x * 2 if all(held) else [n for n, ok in enumerate(held) if not ok]
"""


@pytest.mark.parametrize("imports", [None, ()], ids=["any", "pure"])
def test_honest_programs_do_not_notice(sandbox: Sandbox, imports: tuple[str, ...] | None) -> None:
    outcome = run(sandbox, of(HONEST, imports))
    assert [(check.outcome, check.detail) for check in outcome.checks] == [("pass", ""), ("pass", "")]


CANNOT_BE_DONE = {
    "open('mine.txt', 'w')": OSError,
    "open('data.csv')": OSError,
    "tempfile.TemporaryFile()": OSError,
    "tempfile.mkdtemp()": OSError,
    "shelve.open('x')": OSError,
    "sqlite3.connect('x.db').execute('create table t (a)')": sqlite3.OperationalError,
    "subprocess.run(['true'])": OSError,
    "os.fork()": OSError,
    "1 / (os.system('true') == 0)": ZeroDivisionError,
    "multiprocessing.Pool(2)": OSError,
    "concurrent.futures.ProcessPoolExecutor(2).submit(abs, 1).result()": OSError,
    "socket.create_connection(('127.0.0.1', 9), 1)": OSError,
    "urllib.request.urlopen('http://127.0.0.1:9')": OSError,
    "importlib.import_module('numpy')": ModuleNotFoundError,
    "[open('/dev/null') for _ in range(100)]": OSError,
    "[threading.Thread(target=time.sleep, args=(9,), daemon=True).start() for _ in range(200)]": RuntimeError,
    "bytearray(1 << 40)": MemoryError,
}
CAN_BE_DONE = (
    "sqlite3.connect(':memory:').execute('create table t (a)')",
    "concurrent.futures.ThreadPoolExecutor(2).submit(abs, 1).result()",
    "threading.Thread(target=print).start()",
    "asyncio.run(asyncio.sleep(0))",
)


def test_what_an_honest_program_cannot_do_is_what_the_docs_say(sandbox: Sandbox) -> None:
    expected = {**dict.fromkeys(CAN_BE_DONE), **CANNOT_BE_DONE}
    code = """
import asyncio, concurrent.futures, importlib, multiprocessing, os, shelve, socket, sqlite3, subprocess, tempfile
import threading, time, urllib.request
def f(action):
    try: eval(action)
    except BaseException as error: return [kind.__name__ for kind in type(error).__mro__]
    return ['none']
"""
    outcome = run(sandbox, IoPairs(code=code, pairs=tuple((action, 0) for action in expected)))
    for (action, error), check in zip(expected.items(), outcome.checks, strict=True):
        assert f"'{error.__name__ if error else 'none'}'" in check.detail, action


def test_an_honest_script_reads_and_writes_its_streams(sandbox: Sandbox) -> None:
    code = "import sys\nfor line in sys.stdin: sys.stdout.write(str(int(line) * 2) + '\\n')\nsys.exit()"
    assert run(sandbox, Stdout(code=code, stdin="1\n2\n", expected=("2\n4",), imports=())).outcome == "pass"


def test_where_no_file_can_be_opened_the_pure_modules_are_there() -> None:
    async def use() -> Outcome:
        async with Sandbox(workers=1, pretend=("container", "no_landlock"), min_tier="D") as poor:
            names = ", ".join(sorted(PURE - {"__future__"}))
            return await poor.run(of(f"import {names}\n{DOUBLE}"), LIMITS)

    assert asyncio.run(use()).outcome == "pass"
