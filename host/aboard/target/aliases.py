"""Aliases: names for targets that are long to write."""

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
        name: One word, which no kind, board or other alias has.
        spec: The target it stands for; may start with another alias.

    Raises:
        TargetError: The name is taken, or is no word.
    """
    if not name or name.startswith("-") or name.split() != [name]:
        raise TargetError(f"alias {name!r}: is no name, expected one word without a leading -. Rename it")
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


def added() -> Mapping[str, Spec]:
    """Returns the aliases added so far by name; `lookup` loads those of packages first."""
    return MappingProxyType(dict(sorted(_ALIASES.items())))


def snapshot() -> dict[str, Spec]:
    """Returns all aliases, for `restore`."""
    return dict(_ALIASES)


def restore(state: Mapping[str, Spec]) -> None:
    """Puts the aliases back into a state: for plug-ins that fail, and for tests."""
    _ALIASES.clear()
    _ALIASES.update(state)
