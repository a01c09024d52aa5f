"""Text for people: names and values in messages, untrusted text made safe to print, redacted keys, tracebacks."""
