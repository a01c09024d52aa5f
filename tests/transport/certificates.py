"""Certificates for a test, by the openssl program: an authority, and a server's signed by it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def authority(folder: Path) -> None:
    """`ca.pem` and `ca.key`."""
    _openssl(folder, "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=testers -keyout ca.key -out ca.pem")


def certificate_of(folder: Path, name: str) -> None:
    """`NAME.pem` and `NAME.key`, signed by the authority."""
    _openssl(folder, f"req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:{name}\n")
    sign = f"x509 -req -days 2 -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out {name}.pem"
    _openssl(folder, sign)


def _openssl(folder: Path, words: str) -> None:
    try:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the openssl program to make a certificate")
