"""The tool sets are data: their schemas compile, their actions name real arguments, traces find their kit."""

import json

import pytest
from jsonschema import Draft202012Validator

from replayer.errors import PlanError
from replayer.tools import toolsets

KITS = [toolsets.load(name) for name in toolsets.KITS]


def argument_names(schema: object) -> set[str]:
    """Every property name of a schema, at any depth."""
    found: set[str] = set()
    if isinstance(schema, dict):
        found.update(schema.get("properties", {}))
        for value in schema.values():
            found |= argument_names(value)
    return found


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
def test_every_tool_has_a_schema_and_an_action_over_its_own_arguments(kit: toolsets.ToolKit) -> None:
    for tool in kit.tools:
        Draft202012Validator.check_schema(tool.parameters)
        assert tool.parameters["type"] == "object"
        for value in tool.parameters["properties"].get("command", {}).get("enum", [None]):
            action = kit.action(tool.name, {"command": value})
            assert action is not None
            assert action.kind in toolsets.ACTION_KINDS
            assert set(action.arguments.values()) <= argument_names(tool.parameters), tool.name


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
def test_a_kit_is_recognised_by_its_own_tools(kit: toolsets.ToolKit) -> None:
    assert toolsets.identify(kit.tools) is kit


@pytest.mark.parametrize(
    ("names", "kit"),
    [
        (["read_file", "edit_file", "grep", "find_path", "list_directory", "terminal", "diagnostics"], "zed"),
        (["Bash", "Read", "Edit", "mcp__github__search"], "claude-code"),
        (["exec_command", "apply_patch"], "codex"),
        (["execute_bash", "str_replace_editor", "finish"], "openhands"),
        (["bash"], "mini-swe-agent"),
        (["bash", "open", "find_file", "submit"], "swe-agent"),
    ],
)
def test_a_trace_without_schemas_is_recognised_by_its_calls(names: list[str], kit: str) -> None:
    found = toolsets.identify(names)
    assert found is not None and found.name == kit


def test_tools_of_strangers_belong_to_no_kit() -> None:
    assert toolsets.identify(["mcp__a__b", "mcp__a__c", "lookup"]) is None
    assert toolsets.identify([]) is None


def test_one_tool_may_do_several_things() -> None:
    kit = toolsets.load("zed-2026-04")
    edit = kit.action("edit_file", {"mode": "edit"})
    assert edit is not None
    assert (edit.kind, edit.arguments["old"]) == ("edit", "old_text")
    assert kit.action("edit_file", {"mode": ["?"]}) == toolsets.Action("other")
    assert kit.action("nope") is None


def test_an_unknown_kit_is_refused_by_name() -> None:
    with pytest.raises(PlanError, match="no tool set named 'emacs'; there are zed, "):
        toolsets.load("emacs")


def test_descriptions_are_short_and_our_own() -> None:
    for kit in KITS:
        assert all(len(tool.description) < 120 for tool in kit.tools)
        json.dumps([tool.parameters for tool in kit.tools])
