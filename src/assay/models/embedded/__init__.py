"""The small model that runs on this machine: weights, engine, worker process, server."""
