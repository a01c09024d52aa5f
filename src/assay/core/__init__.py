"""READ FIRST: the records, the seams, and the life of a run."""
