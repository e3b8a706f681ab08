"""Brings machine-learning models aboard microcontrollers: compiles, builds, runs, checks.

The two paths, in a few lines::

    import aboard

    module = aboard.compile("kws.tflite", board="arm/mps2_an386")
    project = aboard.create(module, board="arm/mps2_an386", path="build/kws")
    project.build()
    with project.session() as device:
        y = device.run(x)

Names are loaded at first use, so that talking to a device does not import the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from aboard.errors import (
    AboardError,
    BoardError,
    CapacityError,
    DeviceError,
    DeviceFault,
    DeviceStatusError,
    DeviceTimeout,
    ExtraError,
    FlashError,
    InputError,
    ModelError,
    PassError,
    PluginError,
    ProjectError,
    ProtocolError,
    TargetError,
    ToolError,
    TransportError,
    VerifyError,
    WrongModelError,
)

if TYPE_CHECKING:
    from aboard.api import Project, Session, create
    from aboard.base.version import VERSION as __version__  # noqa: N811 - the name that packages have
    from aboard.check.compare import compare
    from aboard.compiler.pipeline import Module
    from aboard.compiler.pipeline import compile_model as compile  # noqa: A004 - the public name; builtins.compile is not used
    from aboard.quantization import quantize
    from aboard.target import Target

__all__ = [
    "AboardError",
    "BoardError",
    "CapacityError",
    "DeviceError",
    "DeviceFault",
    "DeviceStatusError",
    "DeviceTimeout",
    "ExtraError",
    "FlashError",
    "InputError",
    "ModelError",
    "Module",
    "PassError",
    "PluginError",
    "Project",
    "ProjectError",
    "ProtocolError",
    "Session",
    "Target",
    "TargetError",
    "ToolError",
    "TransportError",
    "VerifyError",
    "WrongModelError",
    "__version__",
    "compare",
    "compile",
    "create",
    "quantize",
]

#: Module and name of each lazily loaded name.
_LAZY = {
    "Module": ("aboard.compiler.pipeline", "Module"),
    "Project": ("aboard.api", "Project"),
    "Session": ("aboard.api", "Session"),
    "Target": ("aboard.target", "Target"),
    "__version__": ("aboard.base.version", "VERSION"),
    "compare": ("aboard.check.compare", "compare"),
    "compile": ("aboard.compiler.pipeline", "compile_model"),
    "create": ("aboard.api", "create"),
    "quantize": ("aboard.quantization", "quantize"),
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'aboard' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value: object = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
