"""One file per kind of model: how each is asked."""
