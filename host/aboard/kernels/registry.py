"""The registry of implementations: every module of the package `aboard.kernels` registers its implementations."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeVar

from aboard.kernels.contract import Implementation

_IMPLEMENTATIONS: dict[str, list[Implementation]] = {}
_ImplementationType = TypeVar("_ImplementationType", bound=type[Implementation])


def implements(cls: _ImplementationType) -> _ImplementationType:
    """Adds an implementation class to the registry (class decorator)."""
    others = _IMPLEMENTATIONS.setdefault(cls.op, [])
    if any(other.name == cls.name for other in others):
        raise ValueError(f"implementation {cls.name} of {cls.op} is registered twice")
    others.append(cls())
    return cls


def implement(base: type[Implementation], rows: Iterable[Mapping[str, object]]) -> None:
    """Adds one implementation for each row of a family's table.

    Args:
        base: What they share.
        rows: The class attributes of each, `op` among them.
    """
    for row in rows:
        implements(type(f"{base.__name__}_{row['op']}", (base,), {"__module__": base.__module__, **row}))


@cache
def _all() -> dict[str, list[Implementation]]:
    package = importlib.import_module("aboard.kernels")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return _IMPLEMENTATIONS


def of(op: str) -> list[Implementation]:
    """Returns the implementations of an op, by name."""
    return sorted(_all().get(op, []), key=lambda i: i.name)
