"""The worker that runs inside the sandbox as its PID 1. Standard library only: it is sent in as one archive."""
