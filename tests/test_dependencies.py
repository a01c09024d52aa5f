"""What the locks hold: pinned, hashed, from no named host, and nothing that is known to be bad or out of place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
MALICIOUS = {
    ("litellm", "1.82.7"): "OSV MAL-2026-2144",
    ("litellm", "1.82.8"): "OSV MAL-2026-2144",
}
UNFIXED = {"diskcache": "CVE-2025-69872: unpickles what it finds"}
NOT_AT_RUN_TIME = {"httpx", "litellm", "openai", "pydantic", "requests", "ray", "torch", "transformers"}


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", lock.read_text(), re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_is_pinned_and_hashed_and_no_host_is_named(lock: Path) -> None:
    text = lock.read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    assert len(entries) > 5
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
    assert "://" not in text


def test_the_tools_of_the_viewers_scripts_are_pinned_and_hashed_and_no_registry_is_named() -> None:
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    wanted = json.loads((ROOT / "package.json").read_text())
    tools = {name.removeprefix("node_modules/"): each for name, each in locked.items() if name}
    assert wanted["private"]
    assert "dependencies" not in wanted
    assert {name: tools[name]["version"] for name in wanted["devDependencies"]} == wanted["devDependencies"]
    assert all(each["integrity"].startswith("sha512-") and "resolved" not in each for each in tools.values())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_nothing_known_to_be_malicious_is_locked(lock: Path) -> None:
    found = {f"{name} {version}" for name, version in pins(lock).items() if (name.lower(), version) in MALICIOUS}
    assert found | (UNFIXED.keys() & pins(lock).keys()) == set()


def test_what_a_user_installs_holds_nothing_heavy() -> None:
    assert NOT_AT_RUN_TIME & pins(ROOT / "requirements.lock").keys() == set()


def test_nothing_of_ours_unpickles() -> None:
    opens_pickles = re.compile(r"^\s*(import|from) (c?pickle|marshal|shelve)\b", re.MULTILINE)
    assert [path for path in (ROOT / "src").rglob("*.py") if opens_pickles.search(path.read_text())] == []
