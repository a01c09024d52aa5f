"""Datasets: rows of files, tables, hubs and YAML as samples."""
