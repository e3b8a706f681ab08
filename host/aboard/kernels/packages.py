"""Kernels of packages, found through the entry-point group `aboard.kernels`.

An entry point names a `KernelPackage`. A package whose kernels cannot be used is left out as a whole; `aboard targets`
and `aboard doctor` give the reason (docs/how-to/adding_a_core.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from aboard import ops
from aboard.base import extensions, resources
from aboard.base.extensions import Extension
from aboard.boards import core_packages
from aboard.boards import cpu as cpus
from aboard.errors import AboardError, PluginError, did_you_mean
from aboard.kernels.contract import Implementation
from aboard.kernels.select import measured

#: Group of entry points.
GROUP = "aboard.kernels"

#: Keys of cores for which aboard has no kernels of its own.
_OTHER_KEYS = frozenset({"riscv", "host"})


@dataclass(frozen=True)
class KernelPackage:
    """Kernels that a package adds for CPU cores.

    Attributes:
        interface: Version of the interface that the package was written for. Write the number.
        implementations: The kernels: classes with `op`, `name` and `keys`.
        headers: Folder of their C headers, as `KernelCall.header` names them: `acme_max4/maximum.h`. They may include
            the headers in `firmware/kernels` (`../portable/binary.h`) and `firmware/include`. None if the kernels call
            functions of aboard only.
        keys: New implementation keys, beside those of the package's cores. A kernel without measurements and without a
            `formula` is used wherever it accepts the node, before kernels for more cores; costs decide otherwise.
        measurements: JSON file with measured costs, rows like those of `kernels` in
            `host/aboard/kernels/select/data`, each with its `core`; None if the kernels have a `formula`, or none.
    """

    interface: int
    implementations: tuple[type[Implementation], ...]
    headers: Path | None = None
    keys: frozenset[str] = frozenset()
    measurements: Path | None = None


def load(ours: Mapping[str, Sequence[Implementation]]) -> tuple[Extension, ...]:
    """Returns the packages (`KernelPackage`), or the reasons why they were left out.

    Args:
        ours: The kernels of aboard by op.
    """
    loaded: list[Extension] = []
    for each in extensions.load_records(GROUP, KernelPackage):
        before = [other for other in loaded if other.found is not None]
        loaded.append(each if each.found is None else _checked(each, before, ours))
    return tuple(loaded)


def _checked(
    extension: Extension, before: Sequence[Extension], ours: Mapping[str, Sequence[Implementation]]
) -> Extension:
    try:
        _check_kernels(extension, before, ours)
        _check_keys(extension, before, ours)
        _check_headers(extension, before)
        _check_measurements(extension.found)
    except AboardError as error:
        return replace(extension, found=None, problem=str(error))
    except Exception as error:
        # A record of foreign code may hold anything, also values that cannot be compared.
        return replace(extension, found=None, problem=f"got {type(error).__name__}: {error}. Repair or remove it")
    return extension


def _check_keys(
    extension: Extension, before: Sequence[Extension], ours: Mapping[str, Sequence[Implementation]]
) -> None:
    used = {key for kernels in ours.values() for kernel in kernels for key in kernel.keys} | _OTHER_KEYS
    given = extension.found.keys
    if isinstance(given, Mapping):
        raise PluginError(
            f"keys: of the wrong type, got the priorities {dict(given)!r}, expected a set of names: costs decide. "
            f"Write frozenset({sorted(map(str, given))!r}), and measure the kernels or give them a formula"
        )
    if not isinstance(given, AbstractSet) or not all(isinstance(key, str) for key in given):
        raise PluginError(f"keys: of the wrong type, got {given!r}, expected a set of names. Write a frozenset")
    for key in sorted(given & used):
        raise PluginError(f"key {key}: is one of aboard, expected a name of its own. Rename it")
    added = {key for core in core_packages.added().values() for key in core.keys}
    known = {*used, *added, *extension.found.keys, *(key for other in before for key in other.found.keys)}
    for kernel in extension.found.implementations:
        for key in sorted(set(kernel.keys) - known):
            raise PluginError(
                f"kernel {kernel.name} of {kernel.op}: unknown key, got {key}. Add it to the package's keys. "
                f"{did_you_mean(key, known)}"
            )


def _check_kernels(
    extension: Extension, before: Sequence[Extension], ours: Mapping[str, Sequence[Implementation]]
) -> None:
    owners = {(kernel.op, kernel.name): "aboard" for kernels in ours.values() for kernel in kernels}
    for other in before:
        owners |= {(kernel.op, kernel.name): other.source for kernel in other.found.implementations}
    for kernel in extension.found.implementations:
        if not isinstance(kernel, type) or not issubclass(kernel, Implementation):
            raise PluginError(
                f"implementations: of the wrong type, got {kernel!r}, expected a class that derives from "
                "aboard.kernels.Implementation. Name one"
            )
        where = f"kernel {kernel.name} of {kernel.op}"
        if kernel.op not in ops.names():
            raise PluginError(f"{where}: unknown op, got {kernel.op}. {did_you_mean(kernel.op, ops.names())}")
        owner = owners.get((kernel.op, kernel.name))
        if owner is not None:
            raise PluginError(
                f"{where} of {extension.source}: is taken by {owner}, expected a name of its own. Rename one of them"
            )
        owners[kernel.op, kernel.name] = extension.source
        kernel()  # an abstract class is refused here, and not when a model is compiled


def _check_headers(extension: Extension, before: Sequence[Extension]) -> None:
    folder = extension.found.headers
    if folder is None:
        return
    if not folder.is_dir():
        raise PluginError(f"headers: not a folder, got {folder}, expected that of the C headers. Change it")
    others = [("aboard", own_headers())]
    others += [(other.source, other.found.headers) for other in before if other.found.headers is not None]
    for path in sorted(folder.rglob("*.h")):
        relative = path.relative_to(folder)
        owner = next((name for name, other in others if (other / relative).is_file()), None)
        if owner is not None:
            raise PluginError(
                f"header {relative.as_posix()} of {extension.source}: is taken by {owner}, expected a path of its own. "
                "Rename its folder"
            )


def _check_measurements(package: KernelPackage) -> None:
    if package.measurements is None:
        return
    own = {(kernel.op, kernel.name) for kernel in package.implementations}
    known = {row.core for row in measured.kernels()}
    for row in measured.kernels_of(package.measurements):
        where = f"{package.measurements}: {row.op} {row.implementation}"
        if (row.op, row.implementation) not in own:
            raise PluginError(f"{where}: is not a kernel of the package. Remove the row, or add the kernel")
        if cpus.find(row.core).known_base not in known:
            raise PluginError(
                f"{where}: {row.core} is like no measured core, expected one of: {', '.join(sorted(known))}, or a core "
                "like one of them. Remove the row"
            )


def own_headers() -> Path:
    """Returns the folder of the headers of aboard's kernels."""
    return resources.firmware() / "kernels"


def header(path: str, packages: Sequence[KernelPackage]) -> Path:
    """Returns the file of a header of packages.

    Args:
        path: As `KernelCall.header` names it.
        packages: The packages.

    Raises:
        PluginError: No package has it.
    """
    folders = [package.headers for package in packages if package.headers is not None]
    found = next((folder / path for folder in folders if (folder / path).is_file()), None)
    if found is None:
        looked = ", ".join(map(str, [own_headers(), *folders]))
        raise PluginError(
            f"header {path}: no such file, got none in {looked}, expected it in the headers of a package. "
            "Report this to the authors of the package whose kernel includes or calls it"
        )
    return found
