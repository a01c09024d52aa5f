"""The project file `assay.yaml`: what it says, where it is found, and which tasks its names stand for."""
