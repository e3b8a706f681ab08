"""One model through the whole compile path, on this machine, against tflite-micro: what campaigns of models do a case.

Integers must be equal. Floats, and integers that follow from computed floats, may differ by `TOLERANCE` of the largest
value that occurs, or by a step.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tflite_micro import runtime

import aboard
from aboard import ops
from aboard.compiler.host_runtime import HostModel
from aboard.compiler.pipeline import Module
from aboard.errors import AboardError, CapacityError, TargetError, ToolError, VerifyError
from aboard.importers import load
from aboard.ir import DType, Graph
from aboard.ops import interpreter
from fuzz import sandbox
from fuzz.sandbox import Ended, Stage
from support import sanitized

#: Of the largest magnitude in the model, for floats.
TOLERANCE = 1e-4
#: Floats beyond are not compared: where they cancel, nothing is left but rounding.
_LARGEST = 1e6
#: Processor time that importing may take, and for each megabyte of the file.
IMPORT_SECONDS, IMPORT_SECONDS_PER_MB = 5.0, 5.0
#: Processor time of a whole case, and memory beyond what Python and its packages take.
CASE_SECONDS, CASE_MEGABYTES = 60.0, 2048
#: Models beyond are compiled and not run.
_ARENA_BYTES, _MACS, _MACS_IN_NUMPY = 1 << 26, 50_000_000, 2_000_000

_COMPUTED_WEIGHTS = "weights and bias must be constants"

#: How the C is compiled: with tcc in milliseconds; with gcc as a user would; with gcc and its sanitizers.
COMPILERS = ("tcc", "gcc", "sanitized")


@dataclass(frozen=True)
class Case:
    """What is drawn.

    Attributes:
        model: A TFLite file.
        target: Target string for this machine.
        seed: Of the inputs.
        compiler: One of `COMPILERS`.
        runs: Inputs drawn.
        ram_share: Share of the arena that the model needs, which it is compiled with as limit; 0 for no limit.
    """

    model: bytes
    target: str
    seed: int
    compiler: str = "tcc"
    runs: int = 2
    ram_share: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """What came out.

    Attributes:
        outcome: `refused`, `capacity`, `compiled`, `ran` (the reference refused, or has no exact answer), `compared`
            or `failed`.
        kind: Of a failure, without numbers, for telling causes apart.
        text: Message of the error, or what failed.
    """

    outcome: str
    kind: str = ""
    text: str = ""


class Failure(Exception):
    """A promise is broken; the message says which."""


def judge(case: Case) -> Verdict:
    """Returns what becomes of a case, tried in a process of its own."""
    ended = sandbox.call(lambda stage: _examine(case, stage), seconds=CASE_SECONDS, megabytes=CASE_MEGABYTES)
    if ended.wrong is None:
        verdict: Verdict = ended.value
        return verdict
    if ended.stage == "reference":
        # The interpreter trusts a file that importing refuses, or crashes where it says nothing.
        return Verdict("ran", text=f"tflite-micro: {ended.wrong}")
    return Verdict("failed", _kind(ended), f"{ended.stage}: {ended.wrong}\n{ended.text[-3000:]}")


def _kind(ended: Ended) -> str:
    if ended.wrong != "exception":
        return f"{ended.stage}: {ended.wrong}"
    lines = ended.text.strip().splitlines()
    places = [line.strip() for line in lines if line.strip().startswith("File ")]
    return f"{ended.stage}: {lines[-1].split(':')[0]} {places[-1] if places else ''}"


def _examine(case: Case, stage: Stage) -> Verdict:
    try:
        return _checked(case, stage)
    except Failure as failure:
        return Verdict("failed", str(failure).split(":")[0], str(failure))


def _checked(case: Case, stage: Stage) -> Verdict:
    stage("import")
    start, allowed = time.process_time(), IMPORT_SECONDS + IMPORT_SECONDS_PER_MB * len(case.model) / 1e6
    try:
        graph = load(case.model, name="m")
    except AboardError as error:
        graph = None
        refusal = str(error)
    if time.process_time() - start > allowed:
        raise Failure(f"slow import: {time.process_time() - start:.1f} s, expected at most {allowed:.1f} s")
    if graph is None:
        return Verdict("refused", text=refusal)
    stage("compile")
    try:
        module = aboard.compile(case.model, target=case.target, name="m")
        if case.ram_share:
            module = _limited(case, module)
    except CapacityError as error:
        return Verdict("capacity", text=str(error))
    except TargetError as error:
        return Verdict("refused", text=str(error))
    except VerifyError as error:
        raise Failure(f"a pass broke the graph: {error}") from error
    except AboardError as error:
        # Which weights are constants is known only once passes have folded what can be: float16 ones, for example.
        if _COMPUTED_WEIGHTS in str(error):
            return Verdict("refused", text=str(error))
        raise Failure(f"refused after the import: {error}") from error
    if module.manifest.ram_bytes > _ARENA_BYTES or module.manifest.macs > _MACS:
        return Verdict("compiled", text="too large to run")
    # A sanitized process runs once, so a model with state is at its first step there.
    runs = 1 if graph.states and case.compiler == "sanitized" else case.runs
    feeds = [inputs(graph, case.seed + run) for run in range(runs)]
    stage("build")
    results = _run(module, feeds, case.compiler, stage)
    return _compare(case, graph, feeds, results, stage)


def _limited(case: Case, module: Module) -> Module:
    """Returns the model compiled for a share of the arena that it took without a limit."""
    limit = max(int(module.manifest.ram_bytes * case.ram_share), 16)
    try:
        found = aboard.compile(case.model, target=f"{case.target} -ram-max={limit}", name="m")
    except CapacityError as error:
        if limit >= module.manifest.ram_bytes:
            raise Failure(f"a limit that was kept to is refused: {error}") from error
        raise
    if found.manifest.ram_bytes > limit:
        raise Failure(f"a limit is not kept to: {found.manifest.ram_bytes} bytes, expected at most {limit}")
    return found


def inputs(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """Returns values of a graph's inputs: anywhere in the range of their types, all at one end, or in the middle."""
    rng, values = np.random.default_rng(seed), {}
    for tensor in graph.inputs:
        dtype = np.dtype(tensor.dtype.numpy)
        how = rng.integers(8)
        if dtype.kind == "f":
            values[tensor.name] = (rng.normal(0, 1 if how else 20, tensor.shape)).astype(dtype)
            continue
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if how == 0:
            low, high = (high, high) if rng.integers(2) else (low, low)
        elif how == 1:
            low, high = low // 16, high // 16
        wide = np.uint64 if dtype == np.uint64 else np.int64
        values[tensor.name] = rng.integers(low, high, tensor.shape, dtype=wide, endpoint=True).astype(dtype)
    return values


def _run(module: Module, feeds: Sequence[dict[str, np.ndarray]], compiler: str, stage: Stage) -> list[list[np.ndarray]]:
    names = [record.name for record in module.manifest.outputs]
    found = []
    if compiler == "sanitized":
        sandbox.unlimited_memory()
        for feed in feeds:
            stage("run")
            with tempfile.TemporaryDirectory() as folder:
                values = sanitized.run(module, feed, Path(folder))
            found.append([np.asarray(values[name]) for name in names])
        return found
    if compiler == "tcc" and shutil.which("tcc"):
        os.environ["CC"] = "tcc"
    try:
        model = HostModel(module)
    except ToolError as error:
        raise Failure(f"the C does not compile: {error}") from error
    stage("run")
    for feed in feeds:
        values = model.run_named(feed)
        found.append([np.asarray(values[name]) for name in names])
    return found


def _steps(graph: Graph, feeds: Sequence[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Returns every tensor of each run; a state is what the run before has left."""
    found, states = [], interpreter.initial_states(graph)
    for feed in feeds:
        values = interpreter.run_all(graph, feed, states)
        states = interpreter.next_states(graph, values)
        found.append(values)
    return found


def _compare(
    case: Case,
    graph: Graph,
    feeds: Sequence[dict[str, np.ndarray]],
    results: Sequence[Sequence[np.ndarray]],
    stage: Stage,
) -> Verdict:
    in_numpy: list[dict[str, np.ndarray]] = [{} for _ in feeds]
    if sum(ops.get(node.op).macs(node) for node in graph.nodes) <= _MACS_IN_NUMPY or _has_floats(graph):
        stage("numpy")
        with np.errstate(all="ignore"):
            in_numpy = _steps(graph, feeds)
        for values, result in zip(in_numpy, results, strict=True):
            wanted = [values[tensor.name] for tensor in graph.outputs]
            _equal(graph, values, result, wanted, "the C differs from the op in numpy")
    stage("reference")
    given = [[feed[tensor.name] for tensor in graph.inputs] for feed in feeds]
    try:
        expected = reference(case.model, graph, given)
    except (RuntimeError, ValueError) as error:
        return Verdict("ran", text=f"tflite-micro refuses: {error}")
    stage("compare")
    told = True
    for values, result, wanted in zip(in_numpy, results, expected, strict=True):
        told &= _equal(graph, values, result, wanted, "the C differs from tflite-micro")
    return Verdict("compared") if told else Verdict("ran", text="floats out of range")


def reference(model: bytes, graph: Graph, given: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Returns the outputs of tflite-micro for each list of inputs, one after another in one interpreter.

    Raises:
        RuntimeError: It refuses the model.
    """
    arena = (1 << 20) + 4 * sum(tensor.type.bytes for tensor in graph.tensors())
    interpreter_ = runtime.Interpreter.from_bytes(model, arena_size=arena)
    expected = []
    for values in given:
        for index, value in enumerate(values):
            interpreter_.set_input(np.asarray(value, order="C"), index)
        interpreter_.invoke()
        expected.append([np.array(interpreter_.get_output(index)) for index in range(len(graph.outputs))])
    return expected


def _has_floats(graph: Graph) -> bool:
    """True where a float is computed, and not only made from an integer."""
    return any(node.output.dtype is DType.FLOAT32 and node.op != "dequantize" for node in graph.nodes)


def check(
    graph: Graph, feed: dict[str, np.ndarray], results: Sequence[np.ndarray], wanted: Sequence[np.ndarray], what: str
) -> bool:
    """Raises `Failure` where results are wrong; returns False where floats are too large to tell.

    Args:
        graph: The model as imported.
        feed: Its inputs.
        results: Its outputs.
        wanted: Those of the reference.
        what: Start of the message.
    """
    with np.errstate(all="ignore"):
        values = interpreter.run_all(graph, feed) if _has_floats(graph) else {}
    return _equal(graph, values, results, wanted, what)


def _equal(
    graph: Graph,
    values: dict[str, np.ndarray],
    results: Sequence[np.ndarray],
    wanted: Sequence[np.ndarray],
    what: str,
) -> bool:
    """As `check`, given the values of all tensors."""
    floats = _has_floats(graph)
    largest = 0.0
    if floats:
        arrays = [value for value in values.values() if np.asarray(value).dtype.kind == "f"]
        arrays += [tensor.data for tensor in graph.tensors() if tensor.data is not None and tensor.dtype.is_float]
        largest = max((float(np.max(np.abs(a))) if np.all(np.isfinite(a)) else np.inf for a in arrays), default=0.0)
        if largest > _LARGEST:
            return False
    for index, (got, want) in enumerate(zip(results, wanted, strict=True)):
        if got.size != want.size or got.dtype != want.dtype:
            raise Failure(f"{what}: output {index} is {got.dtype} {got.shape}, expected {want.dtype} {want.shape}")
        a, b = np.ascontiguousarray(got).reshape(-1), np.ascontiguousarray(want).reshape(-1)
        if not floats:
            wrong = np.flatnonzero(a.view(np.uint8) != b.view(np.uint8))
        elif a.dtype.kind == "f":
            wrong = np.flatnonzero(~(np.abs(a - b) <= TOLERANCE * max(largest, 1.0)))
        else:
            # A float on the border of two steps; what integers follow from it, no one can tell.
            wrong = np.flatnonzero(np.abs(a.astype(np.int64) - b) > 1) if _ends_in_quantize(graph, index) else []
        if len(wrong):
            at = int(wrong[0]) // (1 if floats else a.itemsize)
            raise Failure(f"{what}: output {index}: {len(wrong)} of {a.size} differ, first {a[at]} for {b[at]} at {at}")
    return True


def _ends_in_quantize(graph: Graph, index: int) -> bool:
    output = graph.outputs[index]
    return any(node.op == "quantize" and node.output is output for node in graph.nodes)
