"""C files of the device: its driver or Arm's, and the functional model that may stand in the place of the NPU."""

from __future__ import annotations

from pathlib import Path

from aboard.base import resources
from aboard.target import DeviceOption, ProjectNeeds, Runtime, Target

#: Macro of the driver: registers are those of the functional model.
_MODEL = "ABOARD_ETHOS_U_MODEL=1"
_DRIVER = ("devices", "ethos_u")
_EMULATION = ("emulation", "ethos_u")
#: Header by which the driver reaches registers, which both need.
_ACCESS = "ethos_u_access.h"
#: Files for Arm's driver; the hooks for caches and the records are those of the own driver.
_CORE_DRIVER = (*_DRIVER, "core_driver")
_SHARED = ("ethos_u.h", "ethos_u_cache.c")
#: C function that handles the NPU's interrupt.
_HANDLER = "ethos_u_interrupt"
#: Arm's driver takes the memory of its mutex and semaphores from Zephyr's heap.
_HEAP_BYTES = 1024
#: Zephyr 3.7 has this symbol only with a console for stdout, and its build of the module fails without it. 1: errors.
_LOG_LEVEL = (
    "# Errors of the NPU go to stdout, if there is one.",
    "config ARM_ETHOS_U_LOG_LEVEL",
    "\tint",
    "\tdefault 1",
)


def driver(target: Target) -> Runtime:
    """Returns the driver; for a host in this process, which has no registers, with the functional model."""
    files = _files(*_DRIVER)
    if target.attrs["driver"] == "zephyr":
        return Runtime({**{name: files[name] for name in _SHARED}, **_files(*_CORE_DRIVER)})
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


def project(target: Target) -> ProjectNeeds:
    """Returns what the driver needs of a project: its handler in the vector table, or Zephyr's module."""
    if target.attrs["driver"] == "zephyr":
        return ProjectNeeds(
            zephyr_modules=("hal_ethos_u",),
            zephyr_config=(
                "CONFIG_ARM_ETHOS_U=y",
                f"CONFIG_ARM_ETHOS_U55_{target.attrs['macs']}=y",
                f"CONFIG_HEAP_MEM_POOL_SIZE={_HEAP_BYTES}",
            ),
            zephyr_kconfig=_LOG_LEVEL,
            template="zephyr",
            chosen_by="-driver=zephyr",
        )
    if target.attrs["wait"] == "interrupt":
        return ProjectNeeds({int(target.attrs["irq"]): _HANDLER}, zephyr_config=("CONFIG_DYNAMIC_INTERRUPTS=y",))
    return ProjectNeeds()


def _configuration(target: Target) -> tuple[str, ...]:
    return (f"ABOARD_ETHOS_U_MACS={target.attrs['macs']}",)


def _files(*folder: str) -> dict[str, str]:
    root = Path(resources.firmware(), *folder)
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(root.glob("*.[ch]"))}
