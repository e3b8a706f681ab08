"""Looks up kinds and aliases by name. The first lookup loads the kinds and aliases of packages."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.errors import TargetError, did_you_mean
from aboard.target import aliases as known_aliases
from aboard.target import plugins
from aboard.target.aliases import Spec
from aboard.target.kind import Kind, registered


def kinds() -> list[str]:
    """Returns the names of all kinds, including the kinds of packages."""
    plugins.load()
    return sorted(registered())


def kind(name: str) -> Kind:
    """Returns the kind of a name.

    Raises:
        TargetError: No kind has that name.
    """
    plugins.load()
    if name not in registered():
        raise TargetError(f"target: unknown kind or hardware {name}.{left_out()} {did_you_mean(name, registered())}")
    return registered()[name]


def left_out() -> str:
    """Returns sentences about the packages whose kinds could not be loaded, each with a leading space."""
    return "".join(
        f" {found.source} could not be loaded and may bring it: {found.problem}."
        for found in plugins.load()
        if found.problem
    )


def aliases() -> Mapping[str, Spec]:
    """Returns all aliases by name, including the aliases of packages."""
    plugins.load()
    return known_aliases.added()


def alias(name: str, spec: Spec) -> None:
    """Adds an alias.

    Args:
        name: One word that is not yet the name of a kind, a board or another alias.
        spec: The target that the alias stands for; may start with another alias.

    Raises:
        TargetError: The name is taken, or is not a word.
    """
    plugins.load()
    known_aliases.add(name, spec)
