"""Declarative tasks: YAML files of datasets, solvers, scorers, metrics, actions and configuration."""
