"""How a sample becomes requests to the model, and their answers a trace."""
