"""What every process that assay starts has in common: what it inherits, and what it cannot read of ours."""
