"""Attribute columns: anything attached to a kind by name, with type and priority."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aboard.errors import TargetError
from aboard.target import Column, Kind, Target, attach, columns, declare, plugins, register
from aboard.target.device import Knob, MemoryRegion, Runtime


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    with plugins.restored():
        register(Kind("fake", "A device of these tests", "accelerator", (), subgraph_only=True))
        yield


def fake() -> Target:
    return Target("fake", as_device=True)


def test_the_columns_the_compiler_knows() -> None:
    known = columns.columns()
    assert set(known) >= {
        "codegen",
        "cost",
        "intrinsics",
        "memory",
        "passes",
        "patterns",
        "runtime",
        "runtimes",
        "supports",
        "tiles",
        "tuning",
    }
    assert all(column.help and column.type_name for column in known.values())
    assert known["codegen"].resolved_type().__name__ == known["codegen"].type_name == "DeviceCode"


def test_functions_get_their_target_and_the_highest_priority_counts() -> None:
    seen: list[Target] = []

    def low(target: Target) -> tuple[Knob, ...]:
        return (Knob("low", (1,), "Nothing"),)

    def high(target: Target) -> tuple[Knob, ...]:
        seen.append(target)
        return (Knob("lanes", (4, 8), "Lanes used"),)

    attach("fake", "tuning", low)
    attach("fake", "tuning", high, priority=2)
    assert [knob.name for knob in columns.call(fake(), "tuning")] == ["lanes"]
    assert seen == [fake()]
    assert [value[0].name for value in columns.call_all(fake(), "tuning")] == ["lanes", "low"]
    assert columns.has(fake(), "tuning")
    assert not columns.has(fake(), "memory")
    assert columns.call(fake(), "memory") is None
    assert columns.names_of("fake") == ["tuning"]


def test_columns_may_be_declared_and_hold_plain_values() -> None:
    declare(Column("wait_states", "Wait states of its bus", int, function=False))
    attach("fake", "wait_states", 3)
    assert columns.get(fake(), "wait_states") == 3
    assert columns.get(Target("c -mcpu=cortex-m4"), "wait_states") is None


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(
        TargetError, match=r"column runtim: unknown\. Did you mean runtime.*Add a column with `declare`"
    ):
        attach("fake", "runtim", None)
    with pytest.raises(TargetError, match=r"column runtime: is declared twice, expected a name of its own"):
        declare(Column("runtime", "Again", str))
    with pytest.raises(
        TargetError, match=r"kind fake, column runtime: got Runtime, expected a function. Give the column"
    ):
        attach("fake", "runtime", Runtime({}))
    declare(Column("size", "A size", int, function=False))
    with pytest.raises(
        TargetError,
        match=r"kind fake, column size: got str, expected int. Give the column such a value; its meaning: A size",
    ):
        attach("fake", "size", "many")
    attach("fake", "runtime", lambda target: "text")
    with pytest.raises(
        TargetError, match=r"there are two values of priority 0, expected one\. Attach one of them with"
    ):
        attach("fake", "runtime", lambda target: Runtime({}))
    with pytest.raises(
        TargetError,
        match=r"column runtime: its function's result: got str, expected Runtime\. Give the column such a value",
    ):
        columns.call(fake(), "runtime")


def test_data_of_devices_has_defaults() -> None:
    region = MemoryRegion("scratchpad", 4096)
    assert (region.align, region.reached_by, region.address) == (4, {"cpu"}, None)
    assert Runtime({"a.h": ""}).include_folders == (".",)
