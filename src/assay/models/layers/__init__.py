"""Wrappers of models: batches, limits, outages."""
