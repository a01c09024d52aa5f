"""The command line: one file per subcommand. Nothing heavy is imported before a subcommand runs."""
