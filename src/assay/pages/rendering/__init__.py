"""Texts of models rendered in a browser, by the same scripts in the viewer, in an exported site and in reports."""
