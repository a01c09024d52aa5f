"""Regular expressions written by strangers: Python's `re`, with a bound on the time any one of them may take."""
