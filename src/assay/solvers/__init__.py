"""How the model is asked."""
