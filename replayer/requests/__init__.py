"""From a recorded turn to the body of a request."""
