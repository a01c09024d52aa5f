"""Two runs compared, sample by sample."""
