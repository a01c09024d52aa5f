"""Where a key may go, and what in a model's words is its address."""

from __future__ import annotations

import pytest

from assay.models.adapters.providers import PROVIDERS, belongs_to, chosen_address, hosts_of, split_address


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com./v1", True),
        ("HTTPS://API.OPENAI.COM/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evilapi.openai.com.example", False),
        ("https://notapi-openai.com", False),
        ("https://api.openai.com@evil.example/v1", False),
        ("https://evil.example/#api.openai.com", False),
        ("https://[::1", False),
        ("", False),
    ],
)
def test_a_providers_key_goes_to_its_own_host_and_encrypted(address: str, own: bool) -> None:
    assert belongs_to("OPENAI_API_KEY", address) is own


def test_a_variable_that_is_no_providers_goes_where_the_user_says() -> None:
    assert hosts_of("MY_KEY") == frozenset()
    assert belongs_to("MY_KEY", "http://localhost:8000/v1")
    # a program that people run wherever they like has no host that its key belongs to
    assert belongs_to("VLLM_API_KEY", "http://10.0.0.7:8000/v1")


def test_every_hosted_provider_is_reached_encrypted_at_its_own_address() -> None:
    for provider in PROVIDERS.values():
        if provider.hosted:
            assert belongs_to(provider.key, provider.address), provider


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("llama", ("llama", None)),
        ("llama@localhost:8000", ("llama", "http://localhost:8000/v1")),
        ("llama@https://host/v2", ("llama", "https://host/v2")),
        ("llama@https://host", ("llama", "https://host/v1")),
        ("llama@http://user:pw@host:1/v1", ("llama", "http://user:pw@host:1/v1")),
        ("@cf/meta/llama", ("@cf/meta/llama", None)),
        ("name@2024", ("name@2024", None)),
        ("a@b@host:8000/x", ("a@b", "http://host:8000/x")),
        ("@localhost:8000", ("@localhost:8000", None)),
    ],
)
def test_an_address_is_distinguished_from_a_name_with_an_at_sign(model: str, parts: tuple[str, str | None]) -> None:
    assert split_address(model) == parts


def test_words_come_before_options() -> None:
    assert chosen_address("m@host:1", {"base_url": "http://other"}) == "http://host:1/v1"
    assert chosen_address("m", {"base_url": "http://other"}) == "http://other"
    assert chosen_address("m", {"base_url": ""}) is None
