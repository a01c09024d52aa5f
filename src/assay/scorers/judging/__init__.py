"""Scorers whose verdict is a model's answer."""
