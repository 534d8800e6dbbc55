"""How many live sessions a server carries whose turns keep the limits and are usable."""
