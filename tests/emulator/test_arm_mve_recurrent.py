"""Recurrent layers and the audio front end with Helium on an emulated Cortex-M55: the bytes of tflite-micro.

One image carries all models of a test, because building one takes longer than running them all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aboard
from emulator.test_arm_dsp_recurrent import Steps, check
from ops.test_lstm import Layer
from ops.test_signal_dsp import halfwords, transform
from ops.test_svdf import Filter
from support import one_op, signal_models
from support.examples import either

BOARD = "arm/mps3_an547"

#: A model, its inputs for each run, and the kernel that computes it.
Case = tuple[bytes, Steps, str]


def lstms() -> list[Case]:
    # Rows of whole chunks and others, blocks of four units and others, sums of more chunks than stand side by side.
    shapes, gains = [(1, 1), (16, 4), (33, 18), (240, 5)], [(0.5, 0.0), (5.0, 0.25)]
    layers = [
        Layer(batch=1 + i % 2, inputs=inputs, units=units, gain=gain, clip=clip, cell_scale=-14 + 2 * i, seed=i)
        for i, (inputs, units) in enumerate(shapes)
        for gain, clip in either(gains, [gains[i % 2]])
    ]
    return [(layer.model(), layer.runs(), "arm_mve_s8") for layer in layers]


def svdfs() -> list[Case]:
    # Units of one block, and of several.
    shapes = [(1, 1, 1, 1), (16, 5, 2, 16), (33, 3, 1, 19), (240, 13, 1, 9), (20, 72, 3, 5), (16, 64, 1, 4)]
    states = [np.int8, np.int16]
    layers = [
        Filter(state=state, batch=1 + i % 2, inputs=inputs, units=units, rank=rank, memory=memory, seed=i)
        for i, (inputs, units, rank, memory) in enumerate(shapes)
        for state in either(states, [states[i % 2]])
    ]
    names = {np.int8: "arm_mve_s8", np.int16: "arm_mve_s8_s16"}
    return [(layer.model(), layer.steps(), names[layer.state]) for layer in layers]


def transforms(rng: np.random.Generator) -> list[Case]:
    found: list[Case] = []
    for kind, length in (("Rfft", 16), ("Rfft", 64), ("Rfft", 128), ("Rfft", 512), ("Irfft", 32), ("Irfft", 128)):
        frame = length + 2 if kind == "Irfft" else length - 3
        ends = [np.full((2, frame), end, np.int16) for end in (-(2**15), 2**15 - 1)]
        steps = [[x] for x in [*(halfwords(rng, 2, frame) for _ in range(3)), *ends]]
        found.append((transform(kind, frame, length), steps, "arm_mve_s16"))
    return found


def windows_and_scales(rng: np.random.Generator) -> list[Case]:
    found: list[Case] = []
    for length, shift in ((1, 0), (8, 12), (19, 15)):
        weights, shape = halfwords(rng, length), (2, length)
        window = signal_models.model("Window", [(shape, np.int16), weights], [(shape, np.int16)], {"shift": shift})
        found.append((window, [[halfwords(rng, *shape)], [np.full(shape, -(2**15), np.int16)]], "arm_mve"))
        results = [((length,), np.int16), ((), np.int32)]
        scale = signal_models.model("FftAutoScale", [((length,), np.int16)], results, {})
        values = [rng.integers(-(2**15), 2**15, length).astype(np.int16) >> bits for bits in range(16)]
        found.append((scale, [[x] for x in [*values, np.full(length, -(2**15), np.int16)]], "arm_mve"))
    return found


def test_recurrent_layers_and_the_front_end(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    check([*lstms(), *svdfs(), *transforms(rng), *windows_and_scales(rng)], tmp_path, BOARD)


def test_energy(tmp_path: Path) -> None:
    # The reference leaves elements outside of the range as they were, so the op's own evaluation is compared.
    ranges, rng = [(1, 0, 1), (9, 0, 9), (23, 3, 22)], np.random.default_rng(0)
    files = [
        signal_models.model(
            "Energy", [((2 * count,), np.int16)], [((count,), np.uint32)], {"start_index": start, "end_index": end}
        )
        for count, start, end in ranges
    ]
    modules = [aboard.compile(file, board=BOARD, name=f"m{i}") for i, file in enumerate(files)]
    assert [node.implementation for module in modules for node in module.manifest.nodes] == ["arm_mve"] * len(files)
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for number, (count, _, _) in enumerate(ranges):
            for x in (halfwords(rng, 2 * count), np.full(2 * count, -(2**15), np.int16)):
                (expected,) = one_op.evaluate(files[number], x)
                np.testing.assert_array_equal(device.run(x, model=f"m{number}"), expected, err_msg=f"model {number}")
