"""Extensions by other packages, found through entry points: flashers, runners, target kinds, cores, kernels, commands.

An entry point for a flasher or a runner names a class, that for cores or kernels a record. If it cannot be loaded,
aboard leaves it out and lists it with the problem. If it fails later, the error names its package (`blamed`), because
that failure is not a bug of aboard.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from aboard.errors import AboardError, PluginError

#: Groups of entry points: `aboard.target.plugins`, `aboard.runners`, `aboard.flashers`, `aboard.cli.brought`,
#: `aboard.boards.core_packages`, `aboard.kernels.packages`.
GROUPS = (
    "aboard.targets",
    "aboard.runners",
    "aboard.flashers",
    "aboard.commands",
    "aboard.cores",
    "aboard.kernels",
)
#: Environment variable with names of entry points that aboard leaves out, separated by commas.
DISABLED = "ABOARD_DISABLED_PLUGINS"
#: Environment variable that makes aboard show the tracebacks of errors in other packages.
TRACEBACK = "ABOARD_TRACEBACK"
#: Version of the base classes of runners and flashers, and of the records of cores and kernels. It changes when an
#: extension has to change too.
INTERFACE = 1


@dataclass(frozen=True)
class Extension:
    """The result of loading an entry point.

    Attributes:
        name: Name of the entry point.
        source: Package that has the entry point, and its version.
        found: The class or record; None if it could not be loaded.
        problem: Why it could not be loaded.
    """

    name: str
    source: str
    found: Any
    problem: str | None = None


def load(group: str, base: type) -> list[Extension]:
    """Returns the classes that packages bring, by name of their entry points.

    Args:
        group: Group of entry points, such as `aboard.flashers`.
        base: Base class that every class must derive from.
    """
    return [_load(entry, lambda thing: _derives(thing, base)) for entry in entries(group)]


def load_records(group: str, record: type) -> list[Extension]:
    """Returns the records that packages bring, by name of their entry points.

    Args:
        group: Group of entry points, such as `aboard.cores`.
        record: Class of the records. A record has an `interface`, and may have a `name`, which is then that of the
            entry point.
    """
    return [_load(entry, lambda thing: _is_record(thing, record)) for entry in entries(group)]


def entries(group: str) -> list[EntryPoint]:
    """Returns the entry points of a group by name, without those that `ABOARD_DISABLED_PLUGINS` names."""
    disabled = {name.strip() for name in os.environ.get(DISABLED, "").split(",")}
    found = sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))
    return [entry for entry in found if entry.name not in disabled]


def source_of(entry: EntryPoint) -> str:
    """Returns the name and version of the package that has an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value


@contextmanager
def blamed() -> Iterator[None]:
    """Names the package whose code fails inside the block. It serves as a context manager and as a decorator.

    Raises:
        PluginError: The package raised an exception that is not an `AboardError`; this error replaces the exception.
    """
    try:
        yield
    except AboardError:
        raise
    except Exception as error:
        found = plugin_error(error)
        if found is None:
            raise
        raise found from error


def plugin_error(error: Exception) -> PluginError | None:
    """Returns an error that names the package whose code raised `error`; None if no package did."""
    packages = {entry.module.partition(".")[0]: entry for group in GROUPS for entry in entry_points(group=group)}
    packages.pop("aboard", None)
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        entry = packages.get(str(frame.f_globals.get("__name__", "")).partition(".")[0])
        if entry is not None:
            return PluginError(
                f"{source_of(entry)}: the package failed, got {type(error).__name__}: {error}, in "
                f"{frame.f_code.co_filename}:{line} (entry point {entry.name} of {entry.group}). Report this to the "
                f"authors of the package; {TRACEBACK}=1 shows the traceback"
            )
    return None


def _load(entry: EntryPoint, unlike: Callable[[object], str]) -> Extension:
    source = source_of(entry)
    try:
        thing = entry.load()
    except (Exception, SystemExit) as error:
        # Foreign code may raise anything. The message goes into the status of the package, and aboard goes on.
        return Extension(entry.name, source, None, _unloadable(entry, error))
    problem = _problem(entry, thing, unlike(thing))
    return Extension(entry.name, source, None if problem else thing, problem)


def _unloadable(entry: EntryPoint, error: BaseException) -> str:
    return f"{entry.value} cannot be imported, got {type(error).__name__}: {error}. Repair or remove the package"


def _derives(thing: object, base: type) -> str:
    """Returns the type that was expected of a thing which is no class that derives from `base`; empty if it is."""
    found = isinstance(thing, type) and issubclass(thing, base)
    return "" if found else f"a class that derives from {base.__module__}.{base.__name__}"


def _is_record(thing: object, record: type) -> str:
    """Returns the type that was expected of a thing which is no `record`; empty if it is."""
    return "" if isinstance(thing, record) else f"{record.__module__}.{record.__name__}"


def _problem(entry: EntryPoint, thing: object, expected: str) -> str | None:
    if expected:
        return (
            f"{entry.value} is of the wrong type, got {getattr(thing, '__name__', thing)!s}, expected {expected}. "
            "Name one in the entry point"
        )
    # A class must have a name; a record of kernels has none.
    name = getattr(thing, "name", None if isinstance(thing, type) else entry.name)
    if name != entry.name:
        return (
            f"{entry.value} has another name, got {name}, expected {entry.name}. "
            "Call the entry point as the class or record"
        )
    interface = getattr(thing, "interface", None)
    if interface != INTERFACE:
        return (
            f"{entry.value} was written for another version of the interface, got {interface}, expected {INTERFACE}. "
            "Install a version of the package for this aboard"
        )
    return None
