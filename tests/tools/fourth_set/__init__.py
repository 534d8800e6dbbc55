"""A fourth set of exchanges, labelled from docs/faults.md and the families' own grammars before any rule was read."""
