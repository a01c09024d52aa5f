"""What assay keeps for this user on this machine, out of reach of every project: folder, secret, seals, notes."""
