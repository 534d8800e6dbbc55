"""The upgrade gate: a small baseline to commit, and what a later run says against it."""
