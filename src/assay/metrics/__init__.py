"""Metrics: pure functions `(prediction, targets, extras) -> float in [0, 1]`, named by the catalog."""
