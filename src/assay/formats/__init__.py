"""Task formats that ship with assay, each read into `TaskDefinition`s."""
