"""The device `cmsis-nn`: Arm's library of kernels for Cortex-M, as a device that claims what the library computes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aboard.target import Attribute, Kind, Need, Plugin, Target, alias, attach, register

VARIABLE = "CMSIS_NN_PATH"
HOW_TO_GET = (
    "Get it with `git clone https://github.com/ARM-software/CMSIS-NN` and name the folder with -cmsis-nn= or in the "
    f"environment variable {VARIABLE}"
)

_ATTRIBUTES = (
    Attribute(
        "cmsis-nn",
        "Folder with the sources of CMSIS-NN, the one that holds Include/arm_nnfunctions.h",
        implied=f"the environment variable {VARIABLE}, when code is generated",
    ),
)


def probe() -> Sequence[Need]:
    """Returns whether the sources are where the environment says."""
    folder = os.environ.get(VARIABLE)
    found = folder is not None and (Path(folder) / "Include" / "arm_nnfunctions.h").is_file()
    return [Need("CMSIS-NN", "sources for the device cmsis-nn", found, HOW_TO_GET, folder if found else None)]


def _patterns(target: Target) -> tuple[Any, ...]:
    # Patterns belong to the compile path, which a device-only installation does not load.
    from aboard.backends.cmsis_nn.patterns import patterns

    return patterns(target)


def _register() -> None:
    register(
        Kind(
            "cmsis-nn",
            "Arm's CMSIS-NN: int8 kernels for Cortex-M, from a source tree of yours",
            "library",
            _ATTRIBUTES,
            subgraph_only=True,
            probe=probe,
        )
    )
    attach("cmsis-nn", "patterns", _patterns)
    for core in ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"):
        alias(f"{core}-cmsis-nn", f"c -mcpu={core} + cmsis-nn")


PLUGIN = Plugin(interface=1, register=_register)
