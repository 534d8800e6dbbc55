"""Levels of live sessions, run one after another until the largest that holds is known."""
