"""Recipes: the original files of well-known benchmarks in, task folders with the published prompting out."""
