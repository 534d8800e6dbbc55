"""A run for a command: in this process, or behind a screen."""
