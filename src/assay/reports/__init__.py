"""What a finished run is turned into: leaderboards, tables, pages, differences."""
