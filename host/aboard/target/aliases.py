"""Aliases: short names for targets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aboard import boards
from aboard.errors import TargetError
from aboard.target.kind import registered

Spec = str | Mapping[str, object]

_ALIASES: dict[str, Spec] = {}


def add(name: str, spec: Spec) -> None:
    """Adds an alias.

    Args:
        name: One word that is not yet the name of a kind, a board or another alias.
        spec: The target that the alias stands for; may start with another alias.

    Raises:
        TargetError: The name is taken, or is not a word.
    """
    if not name or name.startswith("-") or name.split() != [name]:
        raise TargetError(f"alias {name!r}: not a name, expected one word without a leading -. Rename it")
    owner = _owner(name, spec)
    if owner is not None:
        raise TargetError(f"alias {name}: is taken by {owner}, expected a name of its own. Rename one of them")
    _ALIASES[name] = spec


def _owner(name: str, spec: Spec) -> str | None:
    if name in _ALIASES:
        return None if _ALIASES[name] == spec else f"the alias of {_ALIASES[name]}"
    if name in registered():
        return "a kind"
    return "a board" if boards.is_known(name) else None


def refuse_kind(name: str) -> None:
    """Refuses the name of a new kind that already names something else, because the kind would take its place.

    Raises:
        TargetError: The name is that of an alias or of a board.
    """
    owner = f"the alias of {_ALIASES[name]}" if name in _ALIASES else "a board" if boards.is_known(name) else None
    if owner is not None:
        raise TargetError(f"kind {name}: is taken by {owner}, expected a name of its own. Rename the kind")


def added() -> Mapping[str, Spec]:
    """Returns the aliases added so far by name. `lookup` also loads the aliases of packages."""
    return MappingProxyType(dict(sorted(_ALIASES.items())))


def snapshot() -> dict[str, Spec]:
    """Returns a copy of all aliases, for `restore`."""
    return dict(_ALIASES)


def restore(state: Mapping[str, Spec]) -> None:
    """Restores the aliases from a snapshot, after a plug-in failed or after a test."""
    _ALIASES.clear()
    _ALIASES.update(state)
