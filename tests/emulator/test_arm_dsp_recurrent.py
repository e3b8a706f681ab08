"""Recurrent layers and the audio front end with the DSP extension on an emulated core: the bytes of tflite-micro.

One image carries all models, because building one takes longer than running them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import aboard
from ops.test_lstm import Layer
from ops.test_signal_dsp import halfwords, transform
from ops.test_svdf import Filter
from support import oracle, signal_models

Steps = Sequence[Sequence[np.ndarray]]


def check(cases: Sequence[tuple[bytes, Steps, str]], folder: Path, board: str = "arm/mps2_an386") -> None:
    """Fails unless all models give the reference's bytes in each of several runs.

    Args:
        cases: Each model, its inputs for each run, and a part of the name of the kernel that computes it.
        folder: Folder of the project.
        board: The board.
    """
    modules = [aboard.compile(model, board=board, name=f"m{i}") for i, (model, _, _) in enumerate(cases)]
    for module, (_, _, kernel) in zip(modules, cases, strict=True):
        assert [node.implementation for node in module.manifest.nodes] == [kernel]
    project = aboard.create(modules, board=board, path=folder / "project")
    project.build()
    with project.session() as device:
        for number, (model, steps, _) in enumerate(cases):
            names = [tensor.name for tensor in modules[number].manifest.inputs]
            for step, (inputs, expected) in enumerate(zip(steps, reference(model, steps), strict=True)):
                results = device.run(dict(zip(names, inputs, strict=True)), model=f"m{number}")
                found = list(results.values()) if isinstance(results, dict) else [results]
                for got, wanted in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(got, wanted, err_msg=f"model {number}, step {step}")


def reference(model: bytes, steps: Steps) -> list[list[np.ndarray]]:
    return oracle.tflm_steps(model, steps)


def test_results_are_those_of_the_reference(tmp_path: Path) -> None:
    check([*recurrent_layers(), *transforms(), *windows_and_scales()], tmp_path)


def recurrent_layers() -> Iterator[tuple[bytes, Steps, str]]:
    """Yields sequences of LSTM and SVDF."""
    # Gates and cells that saturate, with and without a clip; parts of tap groups; two batches.
    gates = [(1, 1, 0.5, 0.0), (3, 4, 5.0, 0.25), (4, 5, 0.5, 0.0), (9, 3, 5.0, 0.0), (13, 8, 0.5, 0.25)]
    for i, (inputs, units, gain, clip) in enumerate(gates):
        layer = Layer(batch=1 + i % 2, inputs=inputs, units=units, gain=gain, clip=clip, seed=i)
        yield layer.model(), layer.runs(), "dsp_s8"
    # States of one byte, of words, and of words and bytes; units of several filters.
    for i, (inputs, units, rank, memory) in enumerate([(1, 1, 1, 1), (7, 5, 2, 4), (8, 3, 1, 12), (13, 6, 1, 11)]):
        svdf = Filter(batch=1 + i % 2, inputs=inputs, units=units, rank=rank, memory=memory, seed=i)
        yield svdf.model(), svdf.steps(), "dsp_s8"


def transforms() -> Iterator[tuple[bytes, Steps, str]]:
    """Yields transforms of both directions with random and extreme samples."""
    rng = np.random.default_rng(0)
    for kind, length in (("Rfft", 8), ("Rfft", 64), ("Rfft", 512), ("Irfft", 8), ("Irfft", 64)):
        frame = length + 2 if kind == "Irfft" else length - 3
        ends = [np.full((2, frame), end, np.int16) for end in (-(2**15), 2**15 - 1)]
        yield transform(kind, frame, length), [[x] for x in [halfwords(rng, 2, frame), *ends]], "dsp_s16"


def windows_and_scales() -> Iterator[tuple[bytes, Steps, str]]:
    """Yields windows, and scales of samples of each magnitude."""
    rng = np.random.default_rng(0)
    for length, shift in ((1, 0), (8, 12), (9, 15)):
        weights, shape = halfwords(rng, length), (2, length)
        window = signal_models.model("Window", [(shape, np.int16), weights], [(shape, np.int16)], {"shift": shift})
        yield window, [[x] for x in (halfwords(rng, *shape), np.full(shape, -(2**15), np.int16))], "dsp"
        results = [((length,), np.int16), ((), np.int32)]
        scale = signal_models.model("FftAutoScale", [((length,), np.int16)], results, {})
        # One number of bits of each kind: the scale of none, of some, and of all.
        values = [rng.integers(-(2**15), 2**15, length).astype(np.int16) >> bits for bits in (0, 1, 7, 14, 15)]
        yield scale, [[x] for x in [*values, np.full(length, -(2**15), np.int16)]], "dsp"
