"""Numbers of finished runs: leaderboards, differences, gates, histories and tables. `pages` lays them out."""
