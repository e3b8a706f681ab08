"""Classes that other packages bring, found through entry points: flashers and runners.

An entry point names a class. One that cannot be loaded breaks nothing: it is left out, and said with its problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

#: Version of what those classes derive from. It changes when they would have to.
INTERFACE = 1


@dataclass(frozen=True)
class Extension:
    """What became of an entry point.

    Attributes:
        name: Name of the entry point.
        source: Package and version it comes from.
        found: The class; None where it could not be loaded.
        problem: Why not.
    """

    name: str
    source: str
    found: type[Any] | None
    problem: str | None = None


def load(group: str, base: type) -> list[Extension]:
    """Returns the classes that packages bring, by name of their entry points.

    Args:
        group: Group of entry points, such as `aboard.flashers`.
        base: What the classes derive from.
    """
    found = sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))
    return [_load(entry, base) for entry in found]


def _load(entry: EntryPoint, base: type) -> Extension:
    source = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value
    try:
        thing = entry.load()
    except Exception as error:
        # Foreign code: whatever it raises is said of it, and the rest of the tool works.
        return Extension(entry.name, source, None, f"{type(error).__name__}: {error}")
    problem = _problem(entry, thing, base)
    return Extension(entry.name, source, None if problem else thing, problem)


def _problem(entry: EntryPoint, thing: object, base: type) -> str | None:
    if not isinstance(thing, type) or not issubclass(thing, base):
        return (
            f"{entry.value} is of the wrong type, got {getattr(thing, '__name__', thing)!s}, expected a class that "
            f"derives from {base.__module__}.{base.__name__}. Name one in the entry point"
        )
    if getattr(thing, "name", None) != entry.name:
        return (
            f"{entry.value} has another name, got {getattr(thing, 'name', None)}, expected {entry.name}. "
            "Call the entry point as the class"
        )
    interface = getattr(thing, "interface", None)
    if interface != INTERFACE:
        return (
            f"{entry.value} was written for another version of the interface, got {interface}, expected {INTERFACE}. "
            "Install a version of the package for this aboard"
        )
    return None
