"""Several runs ranked over what they share."""
