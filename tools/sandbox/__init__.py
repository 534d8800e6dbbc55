"""Isolation for tool calls: an untrusted command sees a workspace of its own and nothing of this machine."""
