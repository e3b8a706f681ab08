"""What reports say of predictions: for which core, from what, and how far off they are."""

from __future__ import annotations

import math

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import PredictionRecord


def core_name(core: str) -> str:
    """Returns a core as people write it: `Cortex-M4`, `RV32IMAC`."""
    if core.startswith("cortex-"):
        return f"Cortex-{core.removeprefix('cortex-').upper()}"
    return core.upper() if core.startswith("rv") else core


def percent(share: float) -> str:
    """Returns a share in whole per cent, upwards; `0.3` per cent and less as one."""
    return f"{max(1, math.ceil(round(100 * share, 3)))} %"


def caption(prediction: PredictionRecord | None) -> str:
    """Returns what a column of predicted instructions is headed with: `predicted for Cortex-M4`."""
    return "predicted" if prediction is None else f"predicted for {core_name(prediction.core)}"


def error(prediction: PredictionRecord | None) -> str:
    """Returns how far off predicted instructions are, in words."""
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
    """Returns the predicted instructions of the host, devices left out."""
    return sum(node.estimated_instructions or 0 for node in manifest.nodes)
