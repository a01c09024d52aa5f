"""Where attempts run: on this machine, or spread over others."""
