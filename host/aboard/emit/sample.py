"""The test program of a bundle: samples and expected outputs, so that any build can test itself.

`firmware/sample/sample.h` generates the same inputs from the same numbers and compares. The expected outputs are from
the numpy definitions of the ops, not from the generated C.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from aboard.base import resources
from aboard.emit import c_text
from aboard.emit.arenas import Arenas
from aboard.emit.banner import banner
from aboard.errors import ModelError
from aboard.ir import Array, DType, Graph, Node, Tensor
from aboard.memory.arenas import Layout
from aboard.ops import control, interpreter
from aboard.schedule.lowering import Program
from aboard.target import Target

#: Folder of the test in a bundle, and the header that all tests share.
FOLDER, HEADER = "test", "sample.h"

#: Number of samples; for a large model only the first, with a comparison of all operators.
_SAMPLES, _LARGE_MACS = 4, 10_000_000

#: Largest number of iterations of all loops of a sample.
_ITERATIONS = 1000

#: Largest number of compared values of an inexact output, and the tolerances: of the largest value, and of integers.
_VALUES, _RELATIVE, _STEPS = 64, 1e-4, 1.0

Values = dict[str, Array]


def files(
    graph: Graph, program: Program, layout: Layout, generator: str, target: Target, macs: int, *, hooks: bool
) -> dict[str, str]:
    """Returns the test program of a model and its header, by path in the bundle; nothing if no sample can be computed.

    Args:
        graph: The compiled graph.
        program: Its schedule.
        layout: Addresses of its buffers.
        generator: Name and version of the generator.
        target: The target of the code.
        macs: Multiply-accumulates of the model.
        hooks: True if the results of every operator can be compared.
    """
    shared = (resources.firmware() / "sample" / HEADER).read_text(encoding="utf-8")
    samples = _computed(program.graph, _SAMPLES if macs <= _LARGE_MACS else 1)
    if not samples:
        return {}
    head = banner(graph, generator, target, f"Proves a build of the model {graph.name}.")
    text = head + "\n" + _program(graph, program, Arenas(graph.name, layout, hooks), samples)
    return {f"{FOLDER}/{HEADER}": shared, f"{FOLDER}/{graph.name}_test.c": c_text.fitted(text)}


def values(dtype: DType, shape: Sequence[int], sample: int, number: int) -> Array:
    """Returns an input of a sample: integers over the whole range of 8 and 16 bits, floats from -2 to 2.

    Args:
        dtype: Element type; wider integers hold 16-bit values.
        shape: Its shape.
        sample: Number of the sample.
        number: Number of the input.
    """
    count = int(np.prod(shape))
    mask = np.uint64(0xFFFFFFFF)
    x = (np.arange(count, dtype=np.uint64) + np.uint64(0x9E3779B9 * (1 + 8 * sample + number) % 2**32)) & mask
    x = ((x ^ x >> np.uint64(16)) * np.uint64(0x85EBCA6B)) & mask
    x = ((x ^ x >> np.uint64(13)) * np.uint64(0xC2B2AE35)) & mask
    bits = (x ^ x >> np.uint64(16)).astype(np.int64)
    if dtype.is_float:
        drawn = ((bits & 0xFFFFFF) - 0x800000) / 4194304.0
    elif dtype.numpy.itemsize == 1:
        drawn = bits & 1 if dtype.numpy.kind == "b" else (bits & 0xFF).astype(np.uint8).view(dtype.numpy)
    else:
        drawn = (bits & 0xFFFF) - 32768
    return np.asarray(drawn).astype(dtype.numpy).reshape(tuple(shape))


def _computed(graph: Graph, count: int) -> list[Values]:
    """Returns the value of every tensor by name, for each of some samples that are run one after the other.

    There are fewer samples than wanted if a loop does not end soon.
    """
    states, found = interpreter.initial_states(graph), []
    for sample in range(count):
        inputs = {t.name: values(t.dtype, t.shape, sample, number) for number, t in enumerate(graph.inputs)}
        try:
            with control.limited(_ITERATIONS):
                found.append(interpreter.run_all(graph, inputs, states))
        except ModelError:
            break
        states = interpreter.next_states(graph, found[-1])
    return found


def _program(graph: Graph, program: Program, arenas: Arenas, samples: Sequence[Values]) -> str:
    name = graph.name
    near = _near(program.graph)
    results = [
        f"    {{{step.index}, {number}, {_checksum(samples[0][tensor.name])}}},"
        for step in (program.steps if arenas.hooks else ())
        for number, tensor in enumerate(step.node.outputs)
        if tensor.name not in near
    ]
    outputs, tables = [], []
    for index, sample in enumerate(samples):
        for number, tensor in enumerate(graph.outputs):
            if tensor.name in near:
                tables.append(_values(f"values_{index}_{number}", sample[tensor.name]))
                outputs.append(_near_output(f"values_{index}_{number}", sample[tensor.name]))
            else:
                outputs.append(f"    {{{_checksum(sample[tensor.name])}, NULL, 0, 0, 0.0f}},")
    pairs = list(zip(arenas.pointers, arenas.macros, strict=True))
    memory = ", ".join(f"{{aboard_sample_aligned({pointer}), {macro}}}" for pointer, macro in pairs)
    return "\n".join(
        [
            f'#include <stdio.h>\n\n#include "{name}.h"\n#include "{HEADER}"\n',
            *tables,
            "static const aboard_sample_output_t outputs[] = {",
            *outputs,
            "};\n",
            *_results_text(results),
            *(f"static uint8_t {pointer}[{macro} + ABOARD_ARENA_ALIGN];" for pointer, macro in pairs),
            _MAIN.format(name=name, samples=len(samples), count=len(results), memory=memory),
        ]
    )


_MAIN = """
/* Declared by whoever calls it from firmware, which then has no use for main: define ABOARD_SAMPLE_NO_MAIN. */
int {name}_test(aboard_sample_finding_t *found);

/** Runs {samples} samples. Returns 0 where all is as it must be, else 1. */
int {name}_test(aboard_sample_finding_t *found) {{
    const aboard_sample_test_t test = {{&{name}_model, {samples}, outputs, results, {count}, checksums}};
    const aboard_memory_t memory[] = {{{memory}}};
    *found = aboard_sample_check(&test, memory);
    return found->what == ABOARD_SAMPLE_OK ? 0 : 1;
}}

#ifndef ABOARD_SAMPLE_NO_MAIN
int main(void) {{
    aboard_sample_finding_t found;
    const int failed = {name}_test(&found);
    switch (found.what) {{
    case ABOARD_SAMPLE_STATUS:
        printf("{name}: sample %u: the run returned status %d\\n", (unsigned)found.sample, (int)found.status);
        break;
    case ABOARD_SAMPLE_NODE:
        printf("{name}: sample %u: operator %u, result %u differs\\n", (unsigned)found.sample, (unsigned)found.node,
               (unsigned)found.output);
        break;
    case ABOARD_SAMPLE_OUTPUT:
        printf("{name}: sample %u: output %u differs\\n", (unsigned)found.sample, (unsigned)found.output);
        break;
    default:
        printf("{name}: ok\\n");
        break;
    }}
    return failed;
}}
#endif
"""


def _results_text(results: Sequence[str]) -> list[str]:
    if not results:
        return ["#define results NULL\n#define checksums NULL\n"]
    table = ["static const aboard_sample_result_t results[] = {", *results, "};\n"]
    return [*table, f"static uint32_t checksums[{len(results)}];\n"]


def _checksum(value: Array) -> str:
    little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"))
    return f"0x{zlib.crc32(little.tobytes()):08x}u"


def _values(name: str, value: Array) -> str:
    spread = np.ascontiguousarray(value).reshape(-1)[:: _step(value)].astype(np.float32)
    return c_text.array(name, spread, 4) + "\n"


def _near_output(name: str, value: Array) -> str:
    step = _step(value)
    largest = float(np.abs(value.astype(np.float64)).max(initial=0.0))
    tolerance = _RELATIVE * largest + 1e-6 if value.dtype.kind == "f" else _STEPS
    return f"    {{0, {name}, {-(-value.size // step)}, {step}, {c_text.floating(tolerance)}}},"


def _step(value: Array) -> int:
    return max(-(-value.size // _VALUES), 1)


def _near(graph: Graph) -> set[str]:
    """Returns the names of tensors that depend on the rounding of floats, which differs between compilers."""
    near: set[str] = set()
    for node in graph.nodes:
        if _computes_in_float(node) or any(tensor.name in near for tensor in node.operands):
            near |= {tensor.name for tensor in node.outputs}
    return near


def _computes_in_float(node: Node) -> bool:
    def is_float(tensors: Sequence[Tensor]) -> bool:
        return any(tensor.dtype.is_float for tensor in tensors)

    # A quantisation divides and rounds to an integer, which is the same on every machine.
    return is_float(node.outputs) or (is_float(node.operands) and node.op != "quantize")
