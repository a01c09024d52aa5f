"""Runs untrusted programs, and documents what it does not stop."""

from assay.sandbox.pool import Sandbox
from assay.sandbox.programs import (
    Check,
    Expressions,
    Imports,
    IoPairs,
    Limits,
    Outcome,
    Program,
    Stdout,
    TestProgram,
    read_imports,
)
from assay.sandbox.rehearsal import Rehearsal
from assay.sandbox.tiers import SandboxRefusedError, SandboxReport

__all__ = [
    "Check",
    "Expressions",
    "Imports",
    "IoPairs",
    "Limits",
    "Outcome",
    "Program",
    "Rehearsal",
    "Sandbox",
    "SandboxRefusedError",
    "SandboxReport",
    "Stdout",
    "TestProgram",
    "read_imports",
]
