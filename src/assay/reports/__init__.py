"""Reports of finished runs: leaderboards, tables, pages and comparisons."""
