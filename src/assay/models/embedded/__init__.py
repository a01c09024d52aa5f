"""The small model that runs here: weights, engine, worker process, server."""
