"""Other programs, one folder each: everything that assay knows about them. Nothing else imports a bridge."""
