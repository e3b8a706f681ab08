"""What the drivers of models' devices need of a project (column `project`): handlers, Zephyr's modules, a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import NodeRecord
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.errors import ProjectError
from aboard.project.templates import Template
from aboard.target import ProjectNeeds, Target, columns


def collect(models: Sequence[Manifest], template: Template, board: Board) -> ProjectNeeds:
    """Returns the needs of all devices that compute a part of a model.

    Raises:
        ProjectError: The template is not the one that a device needs, or an interrupt has two handlers or none.
    """
    found = [
        (device, needs)
        for model in models
        for device in Target(model.target).devices
        if _computes(device, model.nodes) and (needs := columns.call(device, "project")) is not None
    ]
    handlers = _drivers(board) if template.drivers == "board" else {}
    for device, needs in found:
        _check_template(device, needs, template)
        _check_core(device, needs, template, board)
        for number, handler in needs.interrupts.items():
            other = handlers.setdefault(number, handler)
            if other != handler:
                raise ProjectError(
                    f"{device.kind.name}: its interrupt has another handler, got {handler} and {other} for interrupt "
                    f"{number}, expected one. Correct the number of the interrupt"
                )
    return ProjectNeeds(
        interrupts={number: name for _, needs in found for number, name in needs.interrupts.items()},
        zephyr_modules=_union([needs.zephyr_modules for _, needs in found]),
        zephyr_config=_union([needs.zephyr_config for _, needs in found]),
        zephyr_kconfig=_union([("\n".join(needs.zephyr_kconfig),) for _, needs in found if needs.zephyr_kconfig]),
    )


def macros(interrupts: Mapping[int, str]) -> list[tuple[str, str]]:
    """Returns name and value of the macros by which the vector table has the handlers."""
    if not interrupts:
        return []
    entries = " ".join(f"ENTRY({number}u, {name})" for number, name in sorted(interrupts.items()))
    return [("ABOARD_DEVICE_INTERRUPTS(ENTRY)", entries), ("ABOARD_DEVICE_IRQ", f"{max(interrupts)}u")]


def _computes(device: Target, nodes: Sequence[NodeRecord]) -> bool:
    """True if a device computes a node, or one of a graph inside a node."""
    names = {device.kind.name, device.hardware, device.key, str(device)}
    return any(
        node.device in names - {None} or any(_computes(device, body.nodes) for body in node.bodies) for node in nodes
    )


def _check_template(device: Target, needs: ProjectNeeds, template: Template) -> None:
    if needs.template not in (None, template.name):
        raise ProjectError(
            f"template {template.name}: does not have the driver of {device.kind.name} {needs.chosen_by}, expected a "
            f"project of the template {needs.template}. Use --template {needs.template}, or compile without "
            f"{needs.chosen_by}"
        )


def _check_core(device: Target, needs: ProjectNeeds, template: Template, board: Board) -> None:
    core = cpus.find(board.core().mcpu)
    if needs.interrupts and template.serves and template.drivers == "board" and not core.is_arm_m:
        raise ProjectError(
            f"template {template.name}: has no handlers of devices on {core.name}, got an interrupt of "
            f"{device.kind.name}, expected a Cortex-M. Compile for a driver that polls"
        )


def _drivers(board: Board) -> dict[int, str]:
    """Returns what the interrupts of the port's own drivers are for, by number."""
    counter = board.counter.params.get("irq") if board.counter else None
    uart = board.uart.irq if board.uart else None
    return {number: name for number, name in ((uart, "the UART"), (counter, "the counter")) if number is not None}


def _union(several: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for lines in several for line in lines))
