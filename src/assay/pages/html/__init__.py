"""Pages that open from disk: no network, no script but that of the charts, everything from a model escaped."""
