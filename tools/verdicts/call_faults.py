"""What is wrong with the calls that were delivered: their arguments, ids and indexes, and how they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from replayer.tools.verdicts.arguments_markup import end_tag_in, next_call_in, swallowed_in
from replayer.tools.verdicts.damage import damage_in
from replayer.tools.verdicts.schema_check import CallCheck, Validator, pointer
from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.tools.verdicts.verdict import Fault
from replayer.wire.merged import objects_in
from replayer.wire.types import JsonObject, NoteCode, ProtocolNote, Reply, ToolCall

if TYPE_CHECKING:
    from replayer.tools.verdicts.evidence import Seen

_EXPLAINED_BY_AN_END = ("arguments_not_json", "missing_parameter", "protocol")


def call_faults(seen: Seen) -> Iterable[Fault]:
    """Faults of names and arguments, and pieces of parallel calls under each other's index."""
    for check in seen.checks:
        if check.faults:
            return _of_calls(seen)
    return ()


def _of_calls(seen: Seen) -> Iterator[Fault]:
    mixed = not seen.cut and _mixed_up(seen.reply.tool_calls, seen.checks, seen.case.validator)
    for index, check in enumerate(seen.checks):
        if mixed and check.defect:
            message = "arguments of parallel calls came under each other's index: joined, they are sound"
            yield Fault("bad_call_index", "parser", message, True, index)
            continue
        for fault in check.faults:
            if fault.klass == "missing_parameter" and _is_swallowed(seen, index, fault):
                continue
            if not (fault.klass in _EXPLAINED_BY_AN_END and seen.call_is_cut(index)):
                yield _blamed(seen, seen.evidence.blamed(fault), index)
        if check.defect == "incomplete" and seen.call_is_cut(index):
            yield from _wrong_before_the_cut(seen, index)


def _wrong_before_the_cut(seen: Seen, index: int) -> Iterator[Fault]:
    """Values that were finished before the end, and are wrong whatever would have followed."""
    call = seen.reply.tool_calls[index]
    finished, text = call.arguments, ""
    for _ in range(_COMMAS):
        finished = finished.rpartition(",")[0]
        if not finished or _is_object(text := finished + "}"):
            break
    for fault in seen.case.validator.check(call.name, text).faults if finished else ():
        if fault.klass in ("wrong_type", "bad_value"):
            yield replace(fault, call_index=index)


_COMMAS = 20
"""Commas looked at from the end of torn arguments, for the one behind the last finished value."""


def _is_swallowed(seen: Seen, index: int, fault: Fault) -> bool:
    value, parameters = (
        seen.checks[index].value,
        seen.case.validator.parameters(seen.reply.tool_calls[index].name),
    )
    return any(fault.path == pointer([key]) for key in swallowed_in(value, parameters))


def _blamed(seen: Seen, fault: Fault, index: int) -> Fault:
    """Who broke the arguments, where the reply itself shows it."""
    codes = {note.code for note in seen.reply.notes if note.call_index == index}
    if fault.klass == "missing_parameter" and "no_arguments" in codes:
        return replace(fault, blame="parser")
    broken = fault.klass == "arguments_not_json" and fault.blame == "unknown"
    shown = _lost_on_the_way(seen.reply, index, codes) if broken else ""
    return replace(fault, blame="parser", message=f"{fault.message}; {shown}") if shown else fault


def _lost_on_the_way(reply: Reply, index: int, codes: set[NoteCode]) -> str:
    """How the reply itself shows that the arguments of a call did not arrive as the model wrote them; "" where not."""
    if codes & {"merged_arguments", "no_arguments"}:
        return "the engine mixed or lost the pieces of the call"
    text = reply.tool_calls[index].arguments
    if _begun_twice(text):
        return "they were begun twice"
    first_lost = any(_is_object(start + text.lstrip(", ")) for start in _STARTS)
    return "their first piece was lost" if first_lost and reply.wire != "chat" and reply.streamed else ""


def _begun_twice(text: str) -> bool:
    """Whether the text is an object behind a piece of its own beginning: a parser sent that, then all of it again."""
    again = 0
    for _ in range(_BRACES):
        again = text.find("{", again + 1, len(text) // 2 + 1)
        if again < 0:
            break
        if text.startswith(text[:again], again) and _is_object(text[again:]):
            return True
    return False


_BRACES = 50
"""Braces looked at for the one where the arguments began again."""


_STARTS = ("{", '{"')
"""What the first delta of a call's arguments usually is."""


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse(text), dict)
    except NotJson:
        return False


def _mixed_up(calls: Sequence[ToolCall], checks: Sequence[CallCheck], validator: Validator) -> bool:
    """Whether the arguments make one sound object for each call once they are joined, though apart they do not.

    A model that wrote bad JSON leaves no such trace: what is missing in one call must stand whole in another.
    """
    if len(calls) < 2 or not any(check.defect for check in checks):
        return False
    objects = objects_in("".join(call.arguments for call in calls), len(calls))
    return len(objects) == len(calls) and all(
        validator.check(call.name, text).valid for call, text in zip(calls, objects, strict=True)
    )


def arguments_damage(seen: Seen) -> Iterable[Fault]:
    """Arguments whose text was damaged on the way, though they are sound JSON."""
    faults: list[Fault] = []
    for index, (call, check) in enumerate(zip(seen.reply.tool_calls, seen.checks, strict=True)):
        text = call.arguments
        if isinstance(check.value, dict) and (not text.isascii() or "<" in text or "\\" in text):
            faults += _of_values(seen, index, call.name, check.value)
    return faults


def _of_values(seen: Seen, index: int, name: str | None, value: JsonObject) -> Iterator[Fault]:
    quoted = seen.case.request.prompt_contains
    for key, holder in swallowed_in(value, seen.case.validator.parameters(name)).items():
        message = f"{key!r} stands with its markup in the text of {pointer([holder])}"
        yield Fault("swallowed_parameter", "parser", message, True, index, pointer([holder]))
    for path, text in _texts_in(value):
        if (next_call := next_call_in(text)) and not quoted(text):
            message = f"the next call stands in {path}: {next_call!r}"
            yield Fault("leaked_markup", "parser", message, True, index, path)
        elif tag := end_tag_in(text):
            yield Fault(
                "leaked_markup", "parser", f"{tag!r} is left at the end of {path}", False, index, path
            )
        if damage := damage_in(text, quoted):
            yield Fault("damaged_text", "engine", f"{path} holds {damage}", True, index, path)


def _texts_in(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts of a JSON value with their pointers, as deep as arguments usually go."""
    if isinstance(value, str):
        yield path, value
    elif depth < _DEEPEST:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in items:
            yield from _texts_in(inner, path + pointer([key]), depth + 1)


_DEEPEST = 6

_INDEX_NOTES = frozenset({"missing_index", "index_out_of_order", "repeated_index"})
_NOTED_ELSEWHERE = frozenset({"missing_id", "duplicate_id", "missing_name"})
_HARMLESS = frozenset(
    {"content_parts", "final_id_differs", "item_id_changed", "no_deltas", "unknown_event", "usage_zero"}
)
_UNREADABLE = frozenset(
    {"block_index_gap", "delta_without_block", "late_start", "repeated_start", "call_not_streamed"}
)
"""Clients give up here: Anthropic's throws or loses the text, OpenAI's never sees the call."""
_COSTS_A_CALL = frozenset({"item_not_done", "repeated_block"})
"""Harmless to text; a client that acts on finished items, or that finds blocks by their index, loses the call."""


def note_faults(seen: Seen) -> Iterable[Fault]:
    """Breaches of the protocol that the assembly of the reply noted."""
    return [fault for note in seen.reply.notes for fault in _of_note(note, seen)] if seen.reply.notes else ()


def _of_note(note: ProtocolNote, seen: Seen) -> Iterator[Fault]:
    if note.code in _NOTED_ELSEWHERE or note.code in _HARMLESS or note.code in seen.case.request.invited:
        return
    if note.code == "no_arguments" and _takes_none(seen, note.call_index):
        return
    if note.code in _INDEX_NOTES:
        broken = any(check.defect for check in seen.checks)
        yield Fault("bad_call_index", "parser", note.message, broken, note.call_index)
    elif note.code == "changed_id" and seen.reply.wire != "chat":
        yield Fault("bad_call_id", "parser", note.message, False, note.call_index)
    else:
        lost = note.code in _UNREADABLE or (note.code in _COSTS_A_CALL and note.call_index is not None)
        lost |= note.code == "bad_field" and ("tool_calls" in note.message or "`function`" in note.message)
        yield Fault("protocol", "engine", f"{note.code}: {note.message}", lost, note.call_index)


def _takes_none(seen: Seen, index: int | None) -> bool:
    """Whether the call is of a tool without parameters: nothing was lost of it."""
    if index is None or index >= len(seen.checks) or not seen.checks[index].valid:
        return False
    return not seen.case.validator.parameters(seen.reply.tool_calls[index].name)


def id_faults(seen: Seen) -> Iterable[Fault]:
    """Ids that are missing, shared by two calls, or used before. Results find their call by the id, so that two calls
    of one reply without different ids cannot be distinguished."""
    calls, earlier = seen.reply.tool_calls, seen.case.request.seen_call_ids
    if not calls or (len(calls) == 1 and calls[0].id and calls[0].id not in earlier):
        return ()
    if any(note.code == "legacy_function_call" for note in seen.reply.notes):
        return ()  # that form has no ids
    count = Counter(call.id or "" for call in calls)
    faults = []
    for index, call in enumerate(calls):
        shared = count[call.id or ""] > 1
        if not call.id:
            faults.append(Fault("bad_call_id", "parser", "the call has no id", shared, index))
        elif shared:
            faults.append(Fault("bad_call_id", "parser", f"two calls have the id {call.id!r}", True, index))
        elif call.id in earlier:
            message = f"the id {call.id!r} was used in an earlier turn"
            faults.append(Fault("bad_call_id", "parser", message, False, index))
    return faults
