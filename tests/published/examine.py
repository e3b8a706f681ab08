"""What becomes of one model: compiled for this machine, run, and compared with goldens and with an interpreter."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tflite
from ai_edge_litert import interpreter as litert
from tflite_micro import runtime

import aboard
from aboard.check.reference import Reference
from aboard.compiler.host_runtime import HostModel
from aboard.errors import AboardError
from aboard.importers import load
from aboard.ir import Array, Graph
from fuzz import sandbox
from fuzz.sandbox import Stage
from published.sources import Published

#: Inputs of a sequence.
STEPS = 8
#: Of the largest value of an output, for floats.
TOLERANCE = 1e-4
SECONDS, MEGABYTES = 90.0, 3072
#: Values of 32 and 64-bit inputs, which are mostly indices.
_INDICES = 16
#: Starts the stage in which tflite-micro, which trusts files, tries a model that aboard refuses.
_REFUSED = "refused: "


@dataclass(frozen=True)
class Verdict:
    """What came out.

    Attributes:
        outcome: `equal`, `differs`, `refused`, `unknown` (no reference runs the model) or `failed`.
        reference: `tflite-micro` or `litert`; of a refused model, `tflite-micro` if that runs it, else empty.
        golden: `equal`, `reference differs too` or `differs`; empty where the repository publishes no golden.
        why: In words, unless equal.
    """

    outcome: str
    reference: str = ""
    golden: str = ""
    why: str = ""


def judge(model: Published) -> Verdict:
    """Returns what becomes of a model, in a process of its own."""
    ended = sandbox.call(lambda stage: _examined(model, stage), seconds=SECONDS, megabytes=MEGABYTES)
    if ended.wrong is None:
        verdict: Verdict = ended.value
        return verdict
    last = (ended.text.strip().splitlines() or [""])[-1][:200]
    if ended.stage.startswith(_REFUSED):
        return Verdict("refused", why=ended.stage.removeprefix(_REFUSED))
    if ended.stage == "reference":
        return Verdict("unknown", why=f"tflite-micro ends: {ended.wrong} {last}")
    return Verdict("failed", why=f"{ended.stage}: {ended.wrong} {last}")


def _examined(model: Published, stage: Stage) -> Verdict:
    stage("compile")
    if shutil.which("tcc"):
        os.environ["CC"] = "tcc"
    try:
        graph = load(model.data, name="m")
        compiled = _compiled(model.data)
    except AboardError as error:
        why = " ".join(str(error).split())
        stage(f"{_REFUSED}{why}")
        return Verdict("refused", "tflite-micro" if _tflm_runs(model.data) else "", why=why)
    stage("run")
    feeds = drawn(graph, STEPS)
    results = [compiled.run_named(feed) for feed in feeds]
    golden = _golden(model, graph, stage) if model.golden else ""
    stage("reference")
    reference = Reference.open(model.data)
    if reference.name == "numpy":
        return _against_litert(model, graph, feeds, results)
    expected = [reference.run(feed) for feed in feeds]
    why = difference(expected, results)
    if not why and not _varies(expected):
        why = _earlier_tensor(model.data, graph, feeds, stage)
    return Verdict("differs" if why or golden == "differs" else "equal", reference.name, golden, why)


def _compiled(data: bytes) -> HostModel:
    return HostModel(aboard.compile(data, target="c -runtime=host", name="m"))


def drawn(graph: Graph, steps: int) -> list[dict[str, Array]]:
    """Returns the inputs of a sequence, by name: integers of all values of 8 and 16 bits, floats around 0."""
    rng, found = np.random.default_rng(3), []
    for _ in range(steps):
        feed: dict[str, Array] = {}
        for tensor in graph.inputs:
            dtype = np.dtype(tensor.dtype.numpy)
            if dtype.kind == "f":
                feed[tensor.name] = rng.normal(0, 1, tensor.shape).astype(dtype)
            elif dtype.kind == "b":
                feed[tensor.name] = rng.integers(0, 2, tensor.shape).astype(dtype)
            elif dtype.itemsize > 2:
                feed[tensor.name] = rng.integers(0, _INDICES, tensor.shape).astype(dtype)
            else:
                info = np.iinfo(dtype)
                feed[tensor.name] = rng.integers(info.min, info.max, tensor.shape, endpoint=True).astype(dtype)
        found.append(feed)
    return found


def difference(expected: Sequence[Mapping[str, Array]], results: Sequence[Mapping[str, Array]], most: int = 0) -> str:
    """Returns what differs first in a sequence; empty if nothing does.

    Args:
        expected: Outputs of the reference at each step.
        results: Those of aboard.
        most: By how much integers may differ.
    """
    for step, (wanted, got) in enumerate(zip(expected, results, strict=True)):
        for name, want in wanted.items():
            a, b = np.asarray(got[name]).ravel(), np.asarray(want).ravel()
            if a.dtype != b.dtype or a.size != b.size:
                return f"step {step}, output {name}: {a.size} {a.dtype}, expected {b.size} {b.dtype}"
            if a.dtype.kind == "f":
                limit = TOLERANCE * max(float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))), 1e-6)
                wrong = ~((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b)))
            elif a.dtype.kind == "b":
                wrong = a != b
            else:
                wrong = np.abs(a.astype(np.int64) - b.astype(np.int64)) > most
            if wrong.any():
                at = int(np.argmax(wrong))
                return f"step {step}, output {name}: {int(wrong.sum())} of {a.size} differ, first {a[at]} for {b[at]}"
    return ""


def _varies(steps: Sequence[Mapping[str, Array]]) -> bool:
    """Returns whether outputs take several values: a constant output proves nothing."""
    return len({b"".join(np.asarray(value).tobytes() for value in step.values()) for step in steps}) * 2 >= len(steps)


def _earlier_tensor(data: bytes, graph: Graph, feeds: Sequence[dict[str, Array]], stage: Stage) -> str:
    """Compares the last tensor that varies, which takes the place of the first output; returns what differs."""
    reference = Reference.open(data)
    steps = [reference.tensors(feed) for feed in feeds]
    for node in reversed(graph.nodes):
        for tensor in node.outputs:
            if tensor.source in steps[0] and _varies([{"": step[tensor.source]} for step in steps]):
                other = _with_output(data, tensor.source)
                stage("run")
                compiled = _compiled(other)
                results = [compiled.run_named(feed) for feed in feeds]
                first = next(iter(results[0]))
                wanted = [{first: step[tensor.source]} for step in steps]
                return difference(wanted, results)
    return ""


def _with_output(data: bytes, tensor: int) -> bytes:
    """Returns a TFLite file whose first output is another tensor of its first subgraph."""
    graph = tflite.Model.GetRootAs(data, 0).Subgraphs(0)
    # The field `outputs` of a subgraph is the third of its table.
    at = graph._tab.Vector(graph._tab.Offset(8))
    return data[:at] + struct.pack("<i", tensor) + data[at + 4 :]


def _golden(model: Published, graph: Graph, stage: Stage) -> str:
    """Compares with the output that the repository publishes; a sequence of its own, as state is at its start."""
    feed = {
        tensor.name: _values(text, tensor.shape, np.dtype(tensor.dtype.numpy))
        for tensor, text in zip(graph.inputs, model.inputs, strict=True)
    }
    output = graph.outputs[0]
    wanted = [{output.name: _values(model.golden, output.shape, np.dtype(output.dtype.numpy))}]
    if not difference(wanted, [_compiled(model.data).run_named(feed)]):
        return "equal"
    stage("reference")
    return "reference differs too" if difference(wanted, [Reference.open(model.data).run(feed)]) else "differs"


def _values(text: str, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    return np.array([float(word) for word in text.replace(",", " ").split()]).astype(dtype).reshape(shape)


def _tflm_runs(data: bytes) -> bool:
    try:
        runtime.Interpreter.from_bytes(data, arena_size=1 << 26).invoke()
    except (RuntimeError, ValueError):
        return False
    return True


def _against_litert(
    model: Published, graph: Graph, feeds: Sequence[dict[str, Array]], results: Sequence[Mapping[str, Array]]
) -> Verdict:
    """Compares with LiteRT's reference kernels, whose integers may differ from those of tflite-micro by a step."""
    try:
        interpreter = litert.Interpreter(
            model_content=model.data,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
            num_threads=1,
        )
        interpreter.allocate_tensors()
        expected = []
        for feed in feeds:
            for detail, tensor in zip(interpreter.get_input_details(), graph.inputs, strict=True):
                interpreter.set_tensor(detail["index"], feed[tensor.name].reshape(detail["shape"]))
            interpreter.invoke()
            details = zip(interpreter.get_output_details(), graph.outputs, strict=True)
            expected.append({tensor.name: interpreter.get_tensor(detail["index"]) for detail, tensor in details})
    except (RuntimeError, ValueError) as error:
        return Verdict("unknown", why=f"neither interpreter runs it: {str(error).splitlines()[0][:150]}")
    why = difference(expected, results, most=1)
    return Verdict("differs" if why else "equal", "litert", "", why)
