"""The only place where model-specific code lives: one file per adapter."""
