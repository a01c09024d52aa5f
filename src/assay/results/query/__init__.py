"""The query language: which attempts of a run, in one expression, for the viewer, the command line and exports."""
