"""Long series of operators on the NPU Ethos-U55: one build of its model for all, and Vela without processes of its own.

A case takes some hundredths of a second, where a bundle that is built takes seconds. What it goes through is the same
up to the command stream: passes, patterns, the file for Vela, Vela. The C of bundles, the driver, and the base pointers
of each input and output are in `support.ethos_u.module`, which graphs are run with.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
from ethosu.vela import vela as main

from aboard.importers import load
from aboard.importers.free_names import FreeNames
from aboard.ir import Graph, Tensor
from aboard.ops import interpreter
from aboard.partition import pipeline
from aboard.partition.partitioner import Partition
from aboard.target import Target
from aboard_ethos_u import lowered, phases, vela
from support import ethos_u

#: What the NPU has computed in this process: nodes by op, and graphs by who computed them.
COMPUTED: Counter[str] = Counter()
GRAPHS: Counter[str] = Counter()
#: Variable with the folder to which `write_counts` writes them.
COUNTS = "ABOARD_NPU_COUNTS"
_POINTERS = 8


def write_counts() -> None:
    """Writes the counts of this process to a file of its own, if the environment names a folder."""
    folder = os.environ.get(COUNTS)
    if folder and (COMPUTED or GRAPHS):
        text = json.dumps({"operators": COMPUTED, "graphs": GRAPHS})
        Path(folder, f"{os.getpid()}.json").write_text(text, encoding="utf-8")


@functools.cache
def _library() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="aboard-npu-"))
    sources = [*ethos_u.SOURCES, ethos_u.SHIM / "run_stream.c"]
    loaded = ctypes.CDLL(str(ethos_u.build(folder / "series.so", sources, "-O2", "-shared", "-fPIC")))
    loaded.run_stream_problem.restype = ctypes.c_char_p
    return loaded


def _vela(command: list[str], folder: Path, _where: str) -> tuple[int, str]:
    """Does what `vela._run` does, in this process."""
    said, before = io.StringIO(), Path.cwd()
    words = command[command.index("ethosu.vela") + 1 :]
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main.main(words)
    except SystemExit as error:
        code = int(error.code or 0) if not isinstance(error.code, str) else 1
    finally:
        os.chdir(before)
    return int(code or 0), said.getvalue()


@contextlib.contextmanager
def vela_in_this_process() -> Iterator[None]:
    """Compiles with Vela in this process, which takes hundredths of a second."""
    with mock.patch.object(vela, "_run", _vela):
        yield


def decided(model: bytes) -> tuple[Graph, Partition]:
    """Returns a model after the passes, and which of its nodes the NPU claims."""
    graph = load(model, name="model")
    return graph, pipeline.decide(graph, Target("c -runtime=host + ethos-u55"))


def is_whole(model: bytes) -> bool:
    """True if the NPU claims every node of a model."""
    return all(placement.claim is not None for placement in decided(model)[1].placements)


def on_model(model: bytes, *inputs: np.ndarray, macs: int = 128, attributes: str = "") -> list[np.ndarray]:
    """Returns the outputs of a model of independent operators; those that the NPU claims are computed by one stream.

    Outputs of operators that the NPU does not claim are those of the ops' `evaluate`.

    Args:
        model: A TFLite file.
        inputs: Values of its inputs.
        macs: Of the NPU.
        attributes: More of the device's.

    Raises:
        RuntimeError: The model of the NPU stops with an error.
    """
    graph, placed = decided(model)
    values = {id(tensor): x for tensor, x in zip(graph.inputs, inputs, strict=True)}
    results = interpreter.run(graph, {t.name: x for t, x in zip(graph.inputs, inputs, strict=True)})
    nodes = [placement.node for placement in placed.placements if placement.claim is not None]
    if nodes:
        taken = _part(graph, [id(node) for node in nodes])
        made = run(lowered.file_of(taken), [values[id(t)] for t in taken.inputs], taken.outputs, macs, attributes)
        results |= {tensor.name: x for tensor, x in zip(taken.outputs, made, strict=True)}
        names = FreeNames(tensor.name for tensor in taken.tensors())
        COMPUTED.update(node.op for node in phases.restored(taken, names))
    return [results[tensor.name] for tensor in graph.outputs]


def _part(graph: Graph, nodes: Sequence[int]) -> Graph:
    """Returns the graph of some operators of a graph, each of which is whole."""
    kept = [node for node in graph.nodes if id(node) in nodes]
    made = {id(tensor) for node in kept for tensor in node.outputs}
    read = {id(tensor) for node in kept for tensor in node.operands}
    inputs = [tensor for tensor in graph.inputs if id(tensor) in read]
    outputs = [tensor for tensor in graph.outputs if id(tensor) in made]
    missing = read - made - {id(t) for t in inputs} - {id(t) for node in kept for t in node.operands if t.is_constant}
    assert not missing, "an operator of which the NPU claims a part"
    return Graph(graph.name, inputs, outputs, kept)


def run(
    file: bytes, inputs: Sequence[np.ndarray], outputs: Iterable[Tensor], macs: int, attributes: str = ""
) -> list[np.ndarray]:
    """Returns the outputs of a TFLite file that Vela compiles as a whole.

    Raises:
        RuntimeError: The model of the NPU stops with an error.
    """
    with vela_in_this_process():
        made = vela.compiled(file, ethos_u.device(macs, attributes), "test")
    borders = (*made.inputs, *made.outputs)
    memory = {0: np.array(made.constants), made.scratch_region: np.zeros(max(made.scratch, 1), np.uint8)}
    for border in borders:
        size = max(each.offset + each.bytes for each in borders if each.region == border.region)
        memory.setdefault(border.region, np.zeros(size, np.uint8))
    for border, x in zip(made.inputs, inputs, strict=True):
        memory[border.region][border.offset :][: border.bytes] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    bases, sizes = (ctypes.c_void_p * _POINTERS)(), (ctypes.c_size_t * _POINTERS)()
    for region, values in memory.items():
        bases[region], sizes[region] = values.ctypes.data if values.size else None, values.size
    stream = np.ascontiguousarray(made.stream, np.uint32)
    status = _library().run_stream(
        macs, stream.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(stream.size), bases, sizes
    )
    if status != 0:
        raise RuntimeError(f"model of the NPU: status {status}, {_library().run_stream_problem()!r}")
    return [
        memory[border.region][border.offset :][: border.bytes].view(tensor.dtype.numpy).reshape(tensor.shape)
        for border, tensor in zip(made.outputs, outputs, strict=True)
    ]
