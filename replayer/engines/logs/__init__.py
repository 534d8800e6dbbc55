"""Engines' log files: the figures they print while they serve, and the settings they print at their start."""
