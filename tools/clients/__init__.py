"""How each agent's tools behave: what they do in a sandbox, and in which words their results reach the model."""

from __future__ import annotations

from replayer.tools.clients.base import Client
from replayer.tools.clients.zed import Zed
from replayer.tools.toolsets import ToolKit


def client_for(kit: ToolKit) -> Client:
    """The client whose tools a kit holds; a plain one where this agent's wording is not known."""
    if kit.agent == "Zed":
        return Zed(newest=kit.name == "zed")
    return Client()
