"""The facts of a run: events, the log they are kept in, and the view folded from it."""
