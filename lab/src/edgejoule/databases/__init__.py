"""What a run measures: databases and commands, loaded data, and whether they can run here."""
