"""Readers of files that people write: strict JSON, bounded YAML, `.env`."""
