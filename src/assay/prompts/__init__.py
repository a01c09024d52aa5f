"""How a sample becomes the text that is sent to a model."""
