"""Drives sessions and appends to the journal."""
