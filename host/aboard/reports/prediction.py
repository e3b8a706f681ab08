"""Text about predictions: their core, their source and their error."""

from __future__ import annotations

import math

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import PredictionRecord


def core_name(core: str) -> str:
    """Returns the usual spelling of a core: `Cortex-M4`, `RV32IMAC`."""
    if core.startswith("cortex-"):
        return f"Cortex-{core.removeprefix('cortex-').upper()}"
    return core.upper() if core.startswith("rv") else core


def percent(share: float) -> str:
    """Returns a share as a whole percentage, rounded up; at least 1 %."""
    return f"{max(1, math.ceil(round(100 * share, 3)))} %"


def caption(prediction: PredictionRecord | None) -> str:
    """Returns the head of a column of predicted instructions: `predicted for Cortex-M4`."""
    return "predicted" if prediction is None else f"predicted for {core_name(prediction.core)}"


def error(prediction: PredictionRecord | None) -> str:
    """Returns the error of predicted instructions in words."""
    if prediction is None:
        return "error not known"
    known = prediction.instructions
    if known is None:
        return f"with the figures of {core_name(prediction.core)}, the nearest measured core: error not known"
    return (
        f"error {percent(known.median)} in the median and {percent(known.most)} at most, "
        f"over {prediction.models} models that were left out of the fit"
    )


def total(manifest: Manifest) -> int:
    """Returns the predicted instructions of the host, without devices."""
    return sum(node.estimated_instructions or 0 for node in manifest.nodes)
