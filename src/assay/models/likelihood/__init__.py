"""The likelihood of given texts, where a server or an engine can compute it."""
