"""Where a run is put together and carried out: locally, in shards, on a Ray cluster, rescored, or only estimated."""
