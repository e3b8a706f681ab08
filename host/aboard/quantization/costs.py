"""What a quantised model costs on a target: RAM, and predicted instructions and time of each layer."""

from __future__ import annotations

from dataclasses import dataclass

from aboard import boards
from aboard.base.manifest import Manifest
from aboard.compiler.pipeline import compile_model
from aboard.device.timing import EstimatedTime
from aboard.errors import AboardError
from aboard.target import Target

#: Operators that are no layers; they give a layer's result in another type, under nearly the same name.
_CONVERSIONS = ("quantize", "dequantize")


@dataclass(frozen=True)
class Costs:
    """Figures of a compiled model.

    Attributes:
        ram_bytes: Bytes of its arenas.
        flash_bytes: Bytes of its constants.
        instructions: Predicted instructions.
        seconds: Estimated time of a run; None if the target has no clock.
        layers: Predicted instructions of each layer, by the name of its result in the compiled model.
    """

    ram_bytes: int
    flash_bytes: int
    instructions: int
    seconds: float | None
    layers: dict[str, int]


def of_model(model: bytes, target: Target) -> Costs:
    """Returns the costs of a model file.

    Raises:
        AboardError: The model cannot be compiled for the target.
    """
    manifest = compile_model(model, target=target, name="quantised").manifest
    spent = [(node, node.estimated_instructions or 0) for node in manifest.nodes]
    layers = {node.outputs[0].tensor: count for node, count in spent if node.op not in _CONVERSIONS}
    total = sum(count for _, count in spent)
    return Costs(manifest.ram_bytes, manifest.weights_bytes, total, _seconds(manifest, target), layers)


def if_compiled(model: bytes, target: Target) -> Costs | None:
    """Returns the costs of a model file; None if it cannot be compiled for the target."""
    try:
        return of_model(model, target)
    except AboardError:
        return None


def _seconds(manifest: Manifest, target: Target) -> float | None:
    if target.hardware is None:
        return None
    estimated = EstimatedTime.predicted(manifest, boards.of_hardware(target.hardware).core().clock_hz)
    return None if estimated is None else estimated.seconds
