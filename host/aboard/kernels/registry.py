"""The registry of implementations.

Every module of the package `aboard.kernels` registers its implementations; `aboard.kernels.packages` finds those of
other packages.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from aboard.base.extensions import Extension
from aboard.kernels import packages
from aboard.kernels.contract import Implementation
from aboard.kernels.packages import KernelPackage
from aboard.kernels.select import measured
from aboard.kernels.select.measured import KernelMeasurement

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
def _ours() -> dict[str, list[Implementation]]:
    package = importlib.import_module("aboard.kernels")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return _IMPLEMENTATIONS


@cache
def _all() -> dict[str, list[Implementation]]:
    found = {op: list(kernels) for op, kernels in _ours().items()}
    for package in _added():
        for kernel in package.implementations:
            found.setdefault(kernel.op, []).append(kernel())
    return found


def of(op: str) -> list[Implementation]:
    """Returns the implementations of an op, by name."""
    return sorted(_all().get(op, []), key=lambda i: i.name)


@cache
def from_packages() -> tuple[Extension, ...]:
    """Returns the kernels of packages (`KernelPackage`), or the reasons why they were left out."""
    return packages.load(_ours())


def _added() -> list[KernelPackage]:
    return [each.found for each in from_packages() if each.found is not None]


@cache
def measurements() -> tuple[KernelMeasurement, ...]:
    """Returns the measured instructions and cycles of the host's kernels: aboard's own, then those of packages."""
    added = [package.measurements for package in _added() if package.measurements is not None]
    return (*measured.kernels(), *(row for path in added for row in measured.kernels_of(path)))


@cache
def measured_kernels() -> frozenset[tuple[str, str]]:
    """Returns op and name of the kernels that were measured, on any core."""
    return frozenset((row.op, row.implementation) for row in measurements())


def header(path: str) -> Path:
    """Returns the file of a kernel's header.

    Args:
        path: As `KernelCall.header` names it.

    Raises:
        PluginError: Neither aboard nor a package has it.
    """
    own = packages.own_headers() / path
    return own if own.is_file() else packages.header(path, _added())
