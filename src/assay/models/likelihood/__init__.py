"""How likely given texts are, where a server or an engine can say it."""
