"""Pages that open from disk: no network, no script, everything from a model escaped."""
