"""Rebuild a request of a run, judge it again, bundle it, shrink it."""
