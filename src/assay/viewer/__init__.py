"""The viewer: a local web page over run folders. Everything it knows is derived from `run.json` and the journal."""
