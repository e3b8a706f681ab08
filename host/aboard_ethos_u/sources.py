"""C files of the device: the driver, and the functional model that may stand in its place."""

from __future__ import annotations

from pathlib import Path

from aboard.base import resources
from aboard.target import DeviceOption, Runtime, Target

#: Macro of the driver: registers are those of the functional model.
_MODEL = "ABOARD_ETHOS_U_MODEL=1"
_DRIVER = ("devices", "ethos_u")
_EMULATION = ("emulation", "ethos_u")
#: Header by which the driver reaches registers, which both need.
_ACCESS = "ethos_u_access.h"


def driver(target: Target) -> Runtime:
    """Returns the driver; for a host in this process, which has no registers, with the functional model."""
    files = _files(*_DRIVER)
    if target.caller is None or target.caller.get("runtime") != "host":
        return Runtime(files)
    return Runtime({**files, **_files(*_EMULATION)}, definitions=(_MODEL, *_configuration(target)))


def option(target: Target) -> DeviceOption:
    """Returns the option of projects that chooses between the hardware and the functional model."""
    files = {**_files(*_EMULATION), _ACCESS: _files(*_DRIVER)[_ACCESS]}
    model = Runtime(files, definitions=(_MODEL, *_configuration(target)))
    return DeviceOption(
        "npu",
        "The NPU of the image: the hardware, or a functional model in its place, which has no timing",
        {"hardware": None, "model": model},
    )


def _configuration(target: Target) -> tuple[str, ...]:
    return (f"ABOARD_ETHOS_U_MACS={target.attrs['macs']}",)


def _files(*folder: str) -> dict[str, str]:
    root = Path(resources.firmware(), *folder)
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(root.glob("*.[ch]"))}
