"""Runs programs we do not trust, and says what it does not stop."""

from assay.sandbox.pool import Sandbox
from assay.sandbox.programs import Check, Expressions, IoPairs, Limits, Outcome, Program, Stdout, TestProgram
from assay.sandbox.tiers import SandboxRefusedError, SandboxReport

__all__ = [
    "Check",
    "Expressions",
    "IoPairs",
    "Limits",
    "Outcome",
    "Program",
    "Sandbox",
    "SandboxRefusedError",
    "SandboxReport",
    "Stdout",
    "TestProgram",
]
