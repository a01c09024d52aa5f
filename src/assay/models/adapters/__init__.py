"""One file per kind of model: how each is called."""
