"""assay measures language models, prompts and datasets."""
