"""Files that describe tasks, read into `TaskDefinition`s and built into `Task`s."""
