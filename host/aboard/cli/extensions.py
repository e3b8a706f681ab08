"""The cores and kernels of other packages, as commands list them."""

from __future__ import annotations

from aboard.base import extensions
from aboard.base.extensions import Extension
from aboard.boards import core_packages

#: Group of the kernels' entry points, known without an import of the compile path.
_KERNELS = "aboard.kernels"


def cores_and_kernels() -> list[tuple[str, Extension]]:
    """Returns the packages with cores and kernels, each with its group of entry points.

    The compile path is imported only if there is a package with kernels.
    """
    found = [(core_packages.GROUP, each) for each in core_packages.from_packages()]
    if extensions.entries(_KERNELS):
        from aboard.kernels import registry

        found += [(_KERNELS, each) for each in registry.from_packages()]
    return found
