"""Streaming models whose layers keep a window of rows, and a C program that runs one over many steps."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard.compiler.pipeline import Module
from support.sanitized import SANITIZERS, WARNINGS
from support.streams import Stream

# At the steps of a mask the states are saved, and restored into another block that has been reset.
_MAIN = """
#include <stdio.h>
#include <string.h>
#include "aboard/config.h"
#include "net.h"

static uint8_t arena[NET_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint8_t first[NET_STATE_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint8_t second[NET_STATE_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);

static int migrate(uint8_t *from, uint8_t *to) {
    const aboard_memory_t old[] = {{arena, sizeof arena}, {from, NET_STATE_BYTES}};
    if (net_reset(to, NET_STATE_BYTES) != ABOARD_OK) { return 1; }
    if (net_model.unroll != NULL && net_model.unroll(old) != ABOARD_OK) { return 1; }
    for (size_t i = 0; i < net_model.state_count; ++i) {
        memcpy(to + net_model.states[i].offset, from + net_model.states[i].offset, net_model.states[i].bytes);
    }
    memset(from, 0x55, NET_STATE_BYTES);
    return 0;
}

int main(void) {
    const aboard_tensor_t *x = &net_model.inputs[0], *y = &net_model.outputs[0];
    uint8_t *state = first;
    if (net_reset(state, NET_STATE_BYTES) != ABOARD_OK) { return 2; }
    for (int step = 0; step < @STEPS@; ++step) {
        if (fread(arena + x->offset, 1, x->bytes, stdin) != x->bytes) { return 3; }
        if (net_run(arena, sizeof arena, state, NET_STATE_BYTES) != ABOARD_OK) { return 4; }
        fwrite(arena + y->offset, 1, y->bytes, stdout);
        if ((@MASK@ >> step & 1) != 0) {
            uint8_t *const other = state == first ? second : first;
            if (migrate(state, other) != 0) { return 5; }
            state = other;
        }
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Layer:
    """A layer that joins new rows to those that it keeps, and slides a window over all of them.

    Attributes:
        op: CONV_2D, DEPTHWISE_CONV_2D or MAX_POOL_2D.
        kept: Rows that a run leaves for the next one.
        height: Height of the window.
        stride: Rows from one window to the next.
        dilation: Rows from one tap to the next; 1 for a pooling.
        channels: Channels of the result of a CONV_2D.
        skipped: Oldest rows that the window does not read: a slice of the joined rows.
    """

    op: str
    kept: int
    height: int
    stride: int = 1
    dilation: int = 1
    channels: int = 8
    skipped: int = 0


def model(layers: Sequence[Layer], fresh: int, width: int = 1, channels: int = 8, seed: int = 0) -> bytes:
    """Returns a model of [1, fresh, width, channels] a run; the states are `stream0`, `stream1` and so on."""
    rng = np.random.default_rng(seed)
    build = Stream().quantised("x", shape=(1, fresh, width, channels))
    last = "x"
    for n, layer in enumerate(layers):
        joined = layer.kept + fresh
        build.quantised(f"old{n}", f"new{n}", shape=(1, layer.kept, width, channels))
        build.quantised(f"cat{n}", shape=(1, joined, width, channels))
        build.read(f"stream{n}", f"old{n}").op("CONCATENATION", [f"old{n}", last], [f"cat{n}"], {"Axis": 1})
        rows_from(build, f"cat{n}", f"new{n}", fresh)
        build.assign(f"stream{n}", f"new{n}")
        source = f"cat{n}"
        if layer.skipped:
            build.quantised(f"part{n}", shape=(1, joined - layer.skipped, width, channels))
            rows_from(build, source, f"part{n}", layer.skipped)
            source = f"part{n}"
        extent = (layer.height - 1) * layer.dilation + 1
        fresh = (joined - layer.skipped - extent) // layer.stride + 1
        made = layer.channels if layer.op == "CONV_2D" else channels
        build.quantised(f"y{n}", shape=(1, fresh, width, made))
        options = {"StrideH": layer.stride, "StrideW": 1, "Padding": "VALID"}
        if layer.op == "MAX_POOL_2D":
            build.op(layer.op, [source], [f"y{n}"], {**options, "FilterHeight": layer.height, "FilterWidth": 1})
        else:
            shape = (made if layer.op == "CONV_2D" else 1, layer.height, 1, channels)
            build.tensor(f"w{n}", shape, np.int8, scale=0.02, data=rng.integers(-127, 128, shape))
            build.tensor(f"b{n}", (made,), np.int32, data=rng.integers(-500, 500, made), scale=0.01)
            more = {"DepthMultiplier": 1} if layer.op == "DEPTHWISE_CONV_2D" else {}
            options |= {"DilationHFactor": layer.dilation, "DilationWFactor": 1, **more}
            build.op(layer.op, [source, f"w{n}", f"b{n}"], [f"y{n}"], options)
        last, channels = f"y{n}", made
    return build.build(["x"], [last])


def rows_from(build: Stream, source: str, result: str, first: int) -> None:
    """Adds the slice of all rows from one on."""
    for name, values in (("begin", [0, first, 0, 0]), ("end", [0, 0, 0, 0]), ("strides", [1, 1, 1, 1])):
        build.tensor(f"{name} of {result}", (4,), np.int32, data=values)
    cut = [source, *(f"{name} of {result}" for name in ("begin", "end", "strides"))]
    build.op("STRIDED_SLICE", cut, [result], {"BeginMask": 13, "EndMask": 15})


def run(module: Module, steps: Sequence[Sequence[np.ndarray]], folder: Path, mask: int = 0) -> np.ndarray:
    """Returns the outputs of all steps of a model called `net`, from a sanitized process.

    Args:
        module: The model, with state in memory of its own.
        steps: The input of each run.
        folder: Where to build.
        mask: Bit i: after step i, the states move to another block.
    """
    bundle = module.save(folder / "bundle", force=True)
    main = folder / "main.c"
    main.write_text(_MAIN.replace("@STEPS@", str(len(steps))).replace("@MASK@", f"{mask}ull"))
    sources = [str(bundle / path) for path in module.manifest.sources]
    command = ["gcc", *WARNINGS, *SANITIZERS, f"-I{bundle / 'include'}", str(main), *sources]
    subprocess.run([*command, "-o", str(folder / "program")], check=True)
    given = b"".join(x.tobytes() for (x,) in steps)
    done = subprocess.run([str(folder / "program")], input=given, capture_output=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr.decode())
    (record,) = module.manifest.outputs
    return np.frombuffer(done.stdout, record.dtype).reshape(len(steps), *record.shape)
