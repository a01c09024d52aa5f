"""Task folders: one JSONL file per task, its rules and its reader."""
