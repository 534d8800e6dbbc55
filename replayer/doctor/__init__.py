"""What a server is and what it can report."""
