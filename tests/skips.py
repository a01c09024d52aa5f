"""Which tests may be skipped, why, and on which machines: `make test` fails for every other skip.

A reason that the table does not have, or that does not hold here (a test that wants Node is skipped although Node is
installed), is a test that has silently stopped to run.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

SHARED_DATA = Path(os.environ.get("ASSAY_SHARED_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


class Excuse(NamedTuple):
    """A reason to skip that is accepted where `holds` says so of this machine; it is given what the pattern caught."""

    reason: str
    holds: Callable[..., bool]
    why: str


def no_package(*names: str) -> bool:
    return any(find_spec(name.partition(".")[0]) is None for name in names)


def no_program(name: str) -> bool:
    return shutil.which(name) is None


def always(*_: str) -> bool:
    return True


EXCUSES = (
    Excuse(
        r".*(?:/proc|cgroups?|orphans|sandbox is Linux only|ulimit|cannot be synced|pidfd).*",
        lambda: sys.platform != "linux",
        "made of what only Linux has",
    ),
    Excuse(r"this host lets us make no cgroup with limits", always, "needs a writable cgroup"),
    Excuse(r"no sandbox on this machine.*", always, "needs namespaces, Landlock or seccomp"),
    Excuse(r"no chromium is installed .*", lambda: True, "`.ci/run` installs one and sets ASSAY_NEED_BROWSER"),
    Excuse(r".*\bnode\b.*", lambda: no_program("node"), "JavaScript; the workflow sets ASSAY_NEED_NODE"),
    Excuse(r"(?:there is )?no (\w+) here", no_program, "tries a program that not every machine has"),
    Excuse(r"(git|nginx|tinyproxy) is not installed", no_program, "tries a real program"),
    Excuse(r"needs the (openssl) program .*", no_program, "tries a real program"),
    Excuse(
        r".*(?:original files|published data|shared data) (?:are|is) not here|\S+ is not here",
        lambda: not SHARED_DATA.is_dir(),
        "published benchmark data is not ours to copy; ASSAY_SHARED_DATA names it",
    ),
    Excuse(
        r"the documentation of the format is not here",
        lambda: not (SHARED_DATA.parent / "seeds").is_dir(),
        "it lies next to the benchmark data",
    ),
    Excuse(r"(?:lm_eval|.*, lm_eval.*) is not installed.*", lambda: no_package("lm_eval"), "make test-peers"),
    Excuse(
        r"inspect_ai is not installed.*|not installed: .*",
        lambda: no_package("inspect_ai", "openai", "datasets"),
        "make test-peers",
    ),
    Excuse(r"inspect_evals is not installed", lambda: no_package("inspect_evals"), "its datasets are hundreds of MB"),
    Excuse(
        r"promptfoo is not installed .*",
        lambda: no_program(os.environ.get("PROMPTFOO", "promptfoo")),
        "make test-peers",
    ),
    Excuse(r"(lm_eval|inspect_ai) is installed", lambda name: not no_package(name), "says what is done without it"),
    Excuse(r"the extra `ray` is not installed", lambda: no_package("ray"), "make test-peers"),
    Excuse(r"needs the extra `hub`.*", lambda: no_package("datasets"), "make test-peers"),
    Excuse(r"needs the extra `transformers`", lambda: no_package("torch", "transformers"), "make test-peers"),
    Excuse(
        r"needs the extra `litellm`|litellm needs it for tools|could not import 'litellm'.*",
        lambda: no_package("litellm", "mcp"),
        "make test-peers",
    ),
    Excuse(r"the package (xllamacpp) is not installed", no_package, "a compiled engine for weights of 93 MB"),
    Excuse(r"`assay model get` was not run here", always, "needs weights of 93 MB"),
    Excuse(r"could not import 'uvloop'.*", lambda: no_package("uvloop"), "it is used where it is installed"),
    Excuse(r"this run looks for new examples", lambda: "ASSAY_EXPLORE" in os.environ, "make fuzz"),
    Excuse(r"root may write anywhere|root, and no setpriv .*", lambda: os.geteuid() == 0, "needs an ordinary user"),
    Excuse(r"the maps of a confined .*|already an unprivileged .*", lambda: os.geteuid() != 0, "needs to be root"),
    Excuse(r"no \S+ that an unprivileged user may run", always, "needs a Python outside of root's folders"),
    Excuse(r"this file system takes no such name", always, "macOS refuses names that are no UTF-8"),
    Excuse(r"assay was installed here before .*", always, "an editable installation from before the entry point"),
)


def skip_without_sandbox(refusal: str) -> NoReturn:
    """Skips the test whose program was refused because this host confines none; fails it for every other refusal."""
    assert "no sandbox of tier" in refusal, refusal
    pytest.skip(f"no sandbox on this machine: {refusal}")


def is_excused(reason: str) -> bool:
    """Whether the table has the reason, and it holds on this machine."""
    matches = ((excuse, re.fullmatch(excuse.reason, reason, re.DOTALL)) for excuse in EXCUSES)
    return any(match and excuse.holds(*match.groups()) for excuse, match in matches)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how many tests were skipped for which reason, and those that must not be."""
    if found := skipped(terminalreporter):
        terminalreporter.section(f"{sum(found.values())} skipped")
        for reason, count in found.most_common():
            verdict = "" if is_excused(reason) else "NO EXCUSE: "
            terminalreporter.write_line(f"{count:5}  {verdict}{reason}", red=bool(verdict))
    if unexcused(found):
        terminalreporter.write_line("a skip needs a reason that holds here, in the table of tests/skips.py", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == pytest.ExitCode.OK and unexcused(skipped(reporter)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skipped(reporter: pytest.TerminalReporter) -> Counter[str]:
    """The number of tests skipped for each reason."""
    reports = reporter.stats.get("skipped", ())
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)


def unexcused(reasons: Iterable[str]) -> list[str]:
    return [reason for reason in reasons if not is_excused(reason)]
