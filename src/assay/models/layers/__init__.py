"""What is wrapped around a model: batches, limits, outages."""
