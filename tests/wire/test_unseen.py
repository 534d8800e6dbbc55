"""Exchanges that try to make the readers lie: text, calls and verdict of each, whole and cut into single bytes."""

from __future__ import annotations

import pytest

from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.wire.reply import assemble
from replayer.wire.types import WIRES, Wire
from tests.tools import exchanges
from tests.wire.unseen import Row, shared
from tests.wire.unseen_events import OF_WIRE

ROWS = [(wire, row) for wire in WIRES for row in [*shared(wire), *OF_WIRE[wire]]]


@pytest.mark.parametrize(
    ("wire", "row"),
    [pytest.param(w, r, id=f"{w}-{r.name}-{'stream' if r.stream else 'whole'}") for w, r in ROWS],
)
def test_an_unseen_exchange(wire: Wire, row: Row) -> None:
    asked = exchanges.request({})
    request = read_request(
        {**(asked if wire == "chat" else exchanges.on_wire(asked, wire)), **(row.asked or {})}
    )
    reply = assemble(row.body, wire=wire, stream=row.stream)
    verdict = judge(Case(reply, Validator(request.tools), request))
    fatal = {f"{fault.klass}/{fault.blame}" for fault in verdict.faults if fault.fatal}
    if row.fatal == "*":
        assert fatal
    else:
        assert fatal == set(row.fatal.split()), verdict.faults
    if row.warns is not None:
        assert {fault.klass for fault in verdict.faults if not fault.fatal} == set(row.warns.split())
    if row.content is not None:
        assert reply.content == row.content
    if row.calls is not None:
        assert [(call.name, call.arguments) for call in reply.tool_calls] == row.calls
    if len(row.body) < 9000:
        pieces = [row.body[at : at + 1] for at in range(len(row.body))]
        assert assemble(pieces, wire=wire, stream=row.stream) == reply
