"""Kinds and aliases by name, those of packages included: they are loaded when a name is first looked up."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.errors import TargetError, did_you_mean
from aboard.target import aliases as known_aliases
from aboard.target import plugins
from aboard.target.aliases import Spec
from aboard.target.kind import Kind, registered


def kinds() -> list[str]:
    """Returns the names of all kinds."""
    plugins.load()
    return sorted(registered())


def kind(name: str) -> Kind:
    """Returns a kind.

    Raises:
        TargetError: There is none of that name.
    """
    plugins.load()
    if name not in registered():
        raise TargetError(
            f"target {name}: unknown kind or hardware, got {name}. {did_you_mean(name, registered())}{left_out()}"
        )
    return registered()[name]


def left_out() -> str:
    """Returns sentences, each with a space before it, that name the packages whose kinds could not be loaded."""
    return "".join(
        f" {found.source} could not be loaded and may bring it: {found.problem}."
        for found in plugins.load()
        if found.problem
    )


def aliases() -> Mapping[str, Spec]:
    """Returns all aliases by name."""
    plugins.load()
    return known_aliases.added()


def alias(name: str, spec: Spec) -> None:
    """Adds an alias.

    Args:
        name: One word, which no kind, board or other alias has.
        spec: The target that the alias stands for; may start with another alias.

    Raises:
        TargetError: The name is taken, or is no word.
    """
    plugins.load()
    known_aliases.add(name, spec)
