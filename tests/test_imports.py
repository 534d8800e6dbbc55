"""The shape of the imports: no circle, no chain longer than twelve modules, every part of a lazy table there."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import grimp
import pytest

from replayer.lazy import LazyTable
from replayer.traces.importers import importers

LONGEST = 12


def test_no_import_chain_is_longer_than_twelve_modules() -> None:
    graph = grimp.build_graph("replayer", cache_dir=None, exclude_type_checking_imports=True)

    @cache
    def chain(module: str) -> tuple[str, ...]:
        below = graph.find_modules_directly_imported_by(module) - {module}
        return (module, *max((chain(one) for one in below), key=len, default=()))

    try:
        longest = max(map(chain, graph.modules), key=len)
    except RecursionError:
        pytest.fail("some modules import each other in a circle")
    assert len(longest) <= LONGEST, " -> ".join(longest)


@pytest.mark.parametrize(
    "place",
    [
        "engines.registry:KINDS",
        "engines.embedded.weights:_FETCH",
        "signals.every:SIGNALS",
        "tools.clients:CLIENTS",
        "tools.sandbox.probe:BACKENDS",
        "tui.pages:PAGES",
        "tui.pages:SHEETS",
        "tui.pages:REPORTS",
        "report.formats:WRITERS",
        "run.driving:CREWS",
    ],
)
def test_every_part_of_a_lazy_table_is_there(place: str) -> None:
    module, name = place.split(":")
    table = getattr(import_module(f"replayer.{module}"), name)
    assert isinstance(table, LazyTable) and all(callable(part) or part.name for part in table.values())


def test_every_importer_is_there() -> None:
    assert len({type(importer) for importer in importers()}) == 30
