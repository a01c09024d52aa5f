"""The leaderboard of one run, from its journal."""
