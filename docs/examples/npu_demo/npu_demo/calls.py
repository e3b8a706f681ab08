"""The C function of a region: a job for the driver, and the call that does it."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Array
from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.kernels.contract import Argument, ConstantArg, InputArg, OutputArg, PackedConstant
from aboard.target import Target
from npu_demo.core import MAGIC

#: Polls beyond the cycles that a job takes by the data sheet: a poll takes several.
_PATIENCE = 10_000


def code(
    target: Target,
    region: ClaimedRegion,
    constants: Sequence[PackedConstant],
    words: Array | None,
    fixed: Sequence[int],
    cycles: int,
) -> DeviceCode:
    """Returns the function of a region.

    Args:
        target: The device.
        region: With one input, one output and one match.
        constants: Weights and parameters.
        words: The command list of v2, or None.
        fixed: The words of v1's job.
        cycles: How long the device takes.
    """
    arguments: list[Argument] = [InputArg(0, "const int8_t *"), OutputArg(0, "int8_t *")]
    arguments += [ConstantArg(constant) for constant in constants]
    parameters = ["const int8_t *x", "int8_t *y", "const int8_t *weights", "const int32_t *parameters"]
    count = len(fixed)
    lines = ['#include "npu_demo.h"', ""]
    if words is not None:
        arguments.append(ConstantArg(PackedConstant("commands", words, 16)))
        parameters.append("const uint32_t *commands")
        count = words.size
    version = 1 if target.get("model") == "v1" else 2
    x, y = region.graph.inputs[0], region.graph.outputs[0]
    lines.append(f"aboard_status_t {region.name}({', '.join(parameters)}) {{")
    if words is None:
        lines.append(f"    static const uint32_t commands[] = {{{', '.join(f'{word}u' for word in fixed)}}};")
    address = int(target.attrs["address"])
    cached = any(memory.cached for memory in region.memory)
    fields = {
        "id": f"{MAGIC | version:#x}u",
        "x": "x",
        "x_bytes": x.type.bytes,
        "y": "y",
        "y_bytes": y.type.bytes,
        "weights": "weights",
        "parameters": "parameters",
        "words": "commands",
        "count": f"{count}u",
    }
    lines.append("    const npu_demo_job_t job = {")
    lines += [f"        .{name} = {value}," for name, value in fields.items()]
    lines += [
        "    };",
        f"    return npu_demo_run({address:#x}u, {str(cached).lower()}, &job, {cycles + _PATIENCE}u);",
        "}",
    ]
    return DeviceCode("\n".join(lines), tuple(arguments), (y.shape,))
