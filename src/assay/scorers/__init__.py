"""What turns a sample and its trace into scores."""
