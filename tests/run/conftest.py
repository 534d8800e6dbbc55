"""Simulated engines for tests of whole runs."""

from tests.servers import serve, start

__all__ = ["serve", "start"]
