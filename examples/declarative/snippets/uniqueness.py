"""Which rows have a value that no other row has; rows without the column count as unique."""

from collections import Counter


def compute_scores(samples):
    column = "<< config.field >>"
    seen = Counter(sample[column] for sample in samples if column in sample)
    return [{"is_unique": seen[sample[column]] == 1 if column in sample else True} for sample in samples]
