"""What is made of a finished run: leaderboards, tables, pages, differences."""
