"""Listeners that log a run elsewhere, one file each; every package is an extra, imported when the listener is made."""
