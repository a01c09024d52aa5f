"""How a sample becomes the text a model is asked."""
