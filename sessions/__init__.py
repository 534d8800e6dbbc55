"""How the shipped sessions were authored: scripts that are really run, and what checks them. Not in the wheel."""
