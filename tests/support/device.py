"""A device for tests: a library that computes int8 products by its own C code, as a package outside would bring it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aboard.partition.pattern import DevicePattern
from aboard.target import Attribute, Kind, Target, attach, plugins, register

MODEL = Attribute("model", "Version", default="v1", allowed=("v1", "v2"), identity=True)


@contextmanager
def device(
    patterns: Sequence[DevicePattern] | dict[str, Sequence[DevicePattern]], *, name: str = "fake", **columns: Any
) -> Iterator[None]:
    """Registers a kind of device for a block; see `declare`."""
    with plugins.restored():
        declare(patterns, name, **columns)
        yield


def declare(patterns: Sequence[DevicePattern] | dict[str, Sequence[DevicePattern]], name: str, **columns: Any) -> None:
    """Registers a kind of device.

    Args:
        patterns: What it may claim; by `-model` where they differ.
        name: Of the kind.
        columns: Functions for further columns.
    """

    def offered(target: Target) -> tuple[DevicePattern, ...]:
        return tuple(patterns[str(target.get("model"))] if isinstance(patterns, dict) else patterns)

    register(Kind(name, "A device of these tests", "accelerator", (MODEL,), subgraph_only=True))
    attach(name, "patterns", offered)
    for column, function in columns.items():
        attach(name, column, function)
