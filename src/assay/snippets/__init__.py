"""The author's Python inside task files: what it sees, and the worker processes it runs in."""
