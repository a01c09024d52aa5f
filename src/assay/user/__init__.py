"""What assay keeps for this user on this machine, out of reach of every project: a folder, a secret, seals, and notes."""
