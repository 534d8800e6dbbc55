"""Several processes, on this machine or on others, that drive the sessions of one run."""
