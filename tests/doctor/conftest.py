"""Simulated servers for the tests of this folder."""

from tests.servers import serve, start

__all__ = ["serve", "start"]
