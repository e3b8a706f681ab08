"""Records of tuning as `aboard tune` would store them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aboard.target import Target, Value
from aboard.tuning.key import device_key, toolchain
from aboard.tuning.records import TuningRecord


def record(
    target: str, workload: str, values: Mapping[str, Value], *, compiler: str | None = None, **further: Any
) -> TuningRecord:
    """Returns the record of a workload of a target's first device, or of the core of a target without devices.

    Args:
        target: The target.
        workload: What is computed.
        values: Value of every knob.
        compiler: Name and version of the toolchain; that of this machine by default.
        further: Further fields.
    """
    whole = Target(target)
    built_by = toolchain(whole) if compiler is None else compiler
    key = device_key(whole, next(iter(whole.devices), whole.host))._asdict()
    return TuningRecord(**key, toolchain=built_by, workload=workload, values=values, **{"count": 1, **further})
