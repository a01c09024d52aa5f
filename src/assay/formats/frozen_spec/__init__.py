"""The frozen task spec: its rules, and files of it read as tasks."""
