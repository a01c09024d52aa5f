"""What every process that assay starts has in common: how it is started, spoken to and ended, and what it inherits."""

is_command = False
"""Whether this process is the `assay` command's own, and not one that imports assay."""
