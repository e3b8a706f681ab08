"""Plug-ins: packages with target kinds, found through the entry-point group `aboard.targets`.

An entry point names a `Plugin`. If a plug-in cannot be loaded, the registries are restored and aboard goes on; `aboard
targets` and `aboard doctor` list the plug-in with its problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

from aboard.base.extensions import entries, source_of
from aboard.errors import TargetError
from aboard.target import aliases, columns
from aboard.target.kind import registered
from aboard.target.kind import restore as restore_kinds
from aboard.target.kind import snapshot as snapshot_kinds

GROUP = "aboard.targets"
#: Version of the interface for plug-ins: `Kind`, columns, patterns, `DeviceCode`. It changes when plug-ins have to
#: change.
INTERFACE = 1

#: Plug-ins that aboard ships: name, and the module and name of the `Plugin`.
_SHIPPED = (("cmsis-nn", "aboard.backends.cmsis_nn:PLUGIN"), ("core", "aboard.backends.core:PLUGIN"))


@dataclass(frozen=True)
class Plugin:
    """A plug-in: the object that an entry point names.

    Attributes:
        interface: Version of the interface that the plug-in was written for. Write the number, not `INTERFACE`.
        register: Registers kinds, columns and aliases. aboard calls it once.
    """

    interface: int
    register: Callable[[], None]


@dataclass(frozen=True)
class PluginStatus:
    """The result of loading a plug-in.

    Attributes:
        name: Name of the entry point.
        source: Package and version of the plug-in, or `aboard`.
        kinds: Kinds that the plug-in registered.
        problem: Why the plug-in could not be loaded; None if it was loaded.
    """

    name: str
    source: str
    kinds: tuple[str, ...]
    problem: str | None = None


@dataclass
class _Loaded:
    """The plug-ins that were found, and the registries before loading."""

    done: bool = False
    status: list[PluginStatus] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)


_loaded = _Loaded()


def load() -> list[PluginStatus]:
    """Loads all plug-ins once and returns their status: aboard's own plug-ins first, then the others by name."""
    if not _loaded.done:
        # Set before loading, because a plug-in may query the registry while it loads.
        _loaded.done = True
        _loaded.before = _snapshot()
        _loaded.status = [_load(name, "aboard", EntryPoint(name, where, GROUP)) for name, where in _SHIPPED]
        _loaded.status += [_load(entry.name, source_of(entry), entry) for entry in entries(GROUP)]
    return list(_loaded.status)


def _snapshot() -> list[Any]:
    return [snapshot_kinds(), columns.snapshot(), aliases.snapshot()]


def _restore(states: list[Any]) -> None:
    kinds_before, columns_before, aliases_before = states
    restore_kinds(kinds_before)
    columns.restore(columns_before)
    aliases.restore(aliases_before)


def _load(name: str, source: str, entry: EntryPoint) -> PluginStatus:
    before = _snapshot()
    known = set(registered())
    try:
        _register(entry)
        for new in sorted(set(registered()) - known):
            aliases.refuse_kind(new)
    except (Exception, SystemExit) as error:
        # A plug-in is foreign code and may raise anything. Its status gets the message, and aboard goes on.
        _restore(before)
        return PluginStatus(
            name, source, (), str(error) if isinstance(error, TargetError) else f"{_kind(error)}: {error}"
        )
    return PluginStatus(name, source, tuple(sorted(set(registered()) - known)))


def _kind(error: BaseException) -> str:
    return type(error).__name__


def _register(entry: EntryPoint) -> None:
    plugin = entry.load()
    if not isinstance(plugin, Plugin):
        raise TargetError(
            f"plug-in {entry.name}: {entry.value} is of the wrong type, got {type(plugin).__name__}, expected "
            "aboard.target.Plugin. Name one in the entry point"
        )
    if plugin.interface != INTERFACE:
        raise TargetError(
            f"plug-in {entry.name}: was written for another version of the interface, got {plugin.interface}, "
            f"expected {INTERFACE}. Install a version of the package for this aboard"
        )
    plugin.register()


@contextmanager
def restored(*, reload: bool = False) -> Iterator[None]:
    """Restores kinds, columns and aliases when the block ends. It is for tests of devices.

    Args:
        reload: True to search for plug-ins again inside the block.
    """
    load()
    before, status = _snapshot(), _loaded.status
    if reload:
        _restore(_loaded.before)
        _loaded.done = False
    try:
        yield
    finally:
        _restore(before)
        _loaded.done, _loaded.status = True, status
