"""Cores of packages, found through the entry-point group `aboard.cores`.

An entry point has the name of a core and names an `AddedCore`. A core that cannot be loaded is left out; errors about
unknown cores, `aboard targets` and `aboard doctor` give the reason (docs/how-to/adding_a_core.md).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

from aboard.base import extensions
from aboard.base.extensions import Extension
from aboard.boards.core_table import CORES, Cpu, Tool, modified, removes
from aboard.errors import TargetError, did_you_mean

#: Group of entry points.
GROUP = "aboard.cores"

_NAME = re.compile(r"[a-z][a-z0-9.-]*")
_WORD = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class AddedCore:
    """A core that a package adds: a known core with more instructions or other compiler flags.

    Attributes:
        interface: Version of the interface that the package was written for. Write the number.
        name: Name, as in `-mcpu`; that of the entry point.
        like: The known core whose instruction set, units, compilers and measurements it has: `cortex-m4`,
            `cortex-m33+nodsp`, `rv32imac`, `generic`.
        keys: Further implementation keys, for kernels that use what the known core lacks.
        features: Further features (`aboard.target.Cpu.features`).
        flags: Further flags for the compiler and the linker, by compiler (`gcc`, `zig`, and `clang` for cores of host
            class). They follow the flags of the known core, so that a later `-mcpu=` or `-march=` wins.
    """

    interface: int
    name: str
    like: str
    keys: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    flags: Mapping[Tool, tuple[str, ...]] = field(default_factory=dict)


@functools.cache
def from_packages() -> tuple[Extension, ...]:
    """Returns the cores of packages (`Cpu`), or the reasons why they were left out."""
    loaded: list[Extension] = []
    for each in extensions.load_records(GROUP, AddedCore):
        same = next((other for other in loaded if other.name == each.name and other.found is not None), None)
        loaded.append(each if each.found is None else _made(each, each.found, same))
    return tuple(loaded)


def added() -> Mapping[str, Cpu]:
    """Returns the cores of packages by name."""
    return {each.name: each.found for each in from_packages() if each.found is not None}


def left_out() -> str:
    """Returns sentences about the cores that were left out, each with a leading space."""
    return "".join(
        f" {each.source} could not be loaded and may bring it: {each.problem}."
        for each in from_packages()
        if each.problem
    )


def _made(extension: Extension, core: AddedCore, same: Extension | None) -> Extension:
    try:
        return replace(extension, found=_cpu(core, extension.source, same))
    except TargetError as error:
        return replace(extension, found=None, problem=str(error))


def _cpu(core: AddedCore, source: str, same: Extension | None) -> Cpu:
    where = f"core {core.name}"
    if core.name in CORES or same is not None:
        owner = "aboard" if same is None else same.source
        raise TargetError(f"{where} of {source}: is taken by {owner}, expected a name of its own. Rename one of them")
    if not _NAME.fullmatch(core.name) or core.name == "native":
        raise TargetError(f"{where}: not a name of a core, expected lower case words as in acme-m4. Rename it")
    _check_words(core, where)
    base, *modifiers = core.like.split("+")
    if base not in CORES:
        raise TargetError(f"{where}: like: unknown core, got {core.like}. {did_you_mean(base, CORES)}")
    known = modified(CORES[base], modifiers, core.like)
    return replace(
        known,
        name=core.name,
        like=known.compiler_name,
        features=known.features | core.features,
        modifiers=(),
        optional=tuple(m for m in known.optional if removes(m) & known.features),
        keys=core.keys,
        added_flags={tool: (*known.added_flags.get(tool, ()), *core.flags.get(tool, ())) for tool in get_args(Tool)},
    )


def _check_words(core: AddedCore, where: str) -> None:
    # The record comes from another package, which nothing held to its types.
    given: dict[str, object] = {"keys": core.keys, "features": core.features}
    for what, words in given.items():
        if not isinstance(words, frozenset | set) or not all(_WORD.fullmatch(str(word)) for word in words):
            raise TargetError(
                f"{where}: {what}: not a set of words, got {_shown(words)}, expected some as in acme_max4. Change them"
            )
    tools = get_args(Tool)
    for tool, flags in core.flags.items():
        if tool not in tools:
            raise TargetError(
                f"{where}: flags: unknown compiler, got {tool}, expected one of: {', '.join(tools)}. Rename it"
            )
        if not _are_flags(flags):
            raise TargetError(
                f'{where}: flags: {tool}: not a tuple of flags, got {flags!r}. Write them as in ("-DACME_MAX4=1",)'
            )


def _are_flags(flags: object) -> bool:
    return isinstance(flags, tuple) and all(isinstance(flag, str) and flag.startswith("-") for flag in flags)


def _shown(words: object) -> str:
    return ", ".join(sorted(map(str, words))) if isinstance(words, frozenset | set) else repr(words)
