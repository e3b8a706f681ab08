"""Commands that packages bring, through the entry-point group `aboard.commands`.

An entry point has the name of a command and names a click command of that name. Help and completion list the names
without an import of the packages; a command of aboard comes before one of a package.
"""

from __future__ import annotations

from collections.abc import Container
from importlib.metadata import EntryPoint

import click

from aboard.base import extensions
from aboard.errors import PluginError

GROUP = "aboard.commands"


def entries(own: Container[str]) -> dict[str, list[EntryPoint]]:
    """Returns the entry points by name of their command.

    Args:
        own: Names of aboard's own commands, which are left out.
    """
    found: dict[str, list[EntryPoint]] = {}
    for entry in extensions.entries(GROUP):
        if entry.name not in own:
            found.setdefault(entry.name, []).append(entry)
    return found


def package(found: list[EntryPoint]) -> str:
    """Returns the Python packages of a command, for help."""
    return ", ".join(dict.fromkeys(entry.module.partition(".")[0] for entry in found))


def command(name: str, own: Container[str]) -> click.Command | None:
    """Returns the command of a package; None if no package brings it.

    Raises:
        PluginError: Several packages bring the command, or its package cannot be imported or names something else.
    """
    found = entries(own).get(name, [])
    if not found:
        return None
    if len(found) > 1:
        raise PluginError(
            f"command {name}: comes from several packages, got {', '.join(entry.value for entry in found)}, expected "
            f"one. Remove the others, or leave the command out with {extensions.DISABLED}={name}"
        )
    (entry,) = found
    try:
        made = entry.load()
    except (Exception, SystemExit) as error:
        # Foreign code may raise anything; the package is at fault, not aboard.
        raise PluginError(
            f"command {name}: {entry.value} of {extensions.source_of(entry)} cannot be imported, got "
            f"{type(error).__name__}: {error}, expected a command. Repair or remove the package"
        ) from error
    if not isinstance(made, click.Command) or made.name != name:
        raise PluginError(
            f"command {name}: {entry.value} of {extensions.source_of(entry)} is of the wrong type, got "
            f"{getattr(made, 'name', type(made).__name__)}, expected a click command of the name {name}. Name one in "
            "the entry point"
        )
    return made
