"""`assay check`: faults of tasks that are found without a model."""
