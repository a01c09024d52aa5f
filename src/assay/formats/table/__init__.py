"""Tables as tasks: a file with rows, a prompt or recorded answers, and what is right."""
