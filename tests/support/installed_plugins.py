"""Leaves out the plug-ins that happen to be installed on this machine."""

from __future__ import annotations

from importlib.metadata import entry_points

from aboard.base import extensions


def disabled() -> dict[str, str]:
    """Returns the environment variable that disables every installed plug-in."""
    names = {entry.name for group in extensions.GROUPS for entry in entry_points(group=group)}
    return {extensions.DISABLED: ",".join(sorted(names))}
