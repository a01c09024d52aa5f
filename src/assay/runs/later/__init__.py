"""What is done to a finished run: rescored, repaired, verified, turned into regressions."""
