"""Trains the model of this example, with sound of the machine without defects only: autoencoder.tflite.

    pip install -e '.[onnx]'
    python train.py

numpy trains: an autoencoder of four dense layers, with Adam. It gives back what it has learnt; what it has not, comes
back with errors. The network is written as ONNX, and `aboard.quantize` makes the int8 model.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

import aboard
import front_end
import machine
from aboard.frontend import frames
from aboard.frontend.audio import LOG_SCALE

HERE = Path(__file__).parent
SEED, RECORDINGS, SECONDS = 11, 250, 4
EPOCHS, BATCH, RATE = 60, 64, 0.002
HIDDEN = (48, 8, 48)

Floats = npt.NDArray[np.float32]
Layers = list[tuple[Floats, Floats]]


def examples(rng: np.random.Generator) -> Floats:
    """Returns inputs of the model, as real numbers [examples, FRAMES * channels]."""
    recordings = np.stack([machine.sound(rng, SECONDS * machine.RATE) for _ in range(RECORDINGS)])
    features = (front_end.FRONT_END(recordings) / LOG_SCALE).astype(np.float32)
    parts = frames(features.reshape(len(features), -1), front_end.FRAMES * features.shape[2], features.shape[2])
    return np.ascontiguousarray(parts[:, ::3]).reshape(-1, parts.shape[2])


def trained(x: Floats, rng: np.random.Generator) -> Layers:
    """Returns the layers for standardised inputs."""
    sizes = (x.shape[1], *HIDDEN, x.shape[1])
    values: list[Floats] = []
    for inputs, outputs in itertools.pairwise(sizes):
        values.append((rng.standard_normal((inputs, outputs)) * np.sqrt(1.5 / inputs)).astype(np.float32))
        values.append(np.zeros(outputs, np.float32))
    first, second = ([np.zeros_like(each) for each in values] for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        order, errors = rng.permutation(len(x)), []
        for start in range(0, len(x), BATCH):
            given = x[order[start : start + BATCH]]
            results = [given]
            for index in range(0, len(values), 2):
                result = results[-1] @ values[index] + values[index + 1]
                results.append(np.maximum(result, 0) if index < len(values) - 2 else result)
            back = 2 * (results[-1] - given) / given.size
            errors.append(float(np.mean((results[-1] - given) ** 2)))
            step += 1
            for index in range(len(values) - 2, -1, -2):
                slopes = (results[index // 2].T @ back, back.sum(axis=0))
                back = (back @ values[index].T) * (results[index // 2] > 0)
                for place, slope in zip((index, index + 1), slopes, strict=True):
                    first[place] = 0.9 * first[place] + 0.1 * slope
                    second[place] = 0.999 * second[place] + 0.001 * slope**2
                    mean, square = first[place] / (1 - 0.9**step), second[place] / (1 - 0.999**step)
                    change = RATE * (1 - epoch / EPOCHS) * mean / (np.sqrt(square) + 1e-8)
                    values[place] -= change.astype(np.float32)
        print(f"epoch {epoch + 1}: mean squared error {np.mean(errors):.4f}", flush=True)
    return list(zip(values[::2], values[1::2], strict=True))


def network(layers: Layers, mean: float, deviation: float) -> onnx.ModelProto:
    """Returns the network for features that are not standardised: the outer layers take that over."""
    (weights, bias), (last, last_bias) = layers[0], layers[-1]
    outer = {
        0: (weights / deviation, bias - weights.sum(axis=0) * mean / deviation),
        len(layers) - 1: (last * deviation, last_bias * deviation + mean),
    }
    nodes, constants, name = [], [], "features"
    for index, layer in enumerate(layers):
        for kind, values in zip("wb", outer.get(index, layer), strict=True):
            constants.append(numpy_helper.from_array(values.astype(np.float32), f"{kind}{index}"))
        result = f"x{index}" if index < len(layers) - 1 else "restored"
        nodes.append(helper.make_node("Gemm", [name, f"w{index}", f"b{index}"], [result]))
        name = result
        if index < len(layers) - 1:
            nodes.append(helper.make_node("Relu", [result], [f"r{index}"]))
            name = f"r{index}"
    shape = [1, len(weights)]
    values = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in ("features", "restored")]
    graph = helper.make_graph(nodes, "autoencoder", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main() -> None:
    """Makes recordings, trains, quantises, and writes the model."""
    rng = np.random.default_rng(SEED)
    x = examples(rng)
    mean, deviation = float(x.mean()), float(x.std())
    layers = trained((x - mean) / np.float32(deviation), rng)
    onnx.save(network(layers, mean, deviation), HERE / "autoencoder.onnx")
    np.savez(HERE / "calibration.npz", x=x[rng.permutation(len(x))[:500]])
    aboard.quantize(HERE / "autoencoder.onnx", HERE / "calibration.npz").save(HERE / "autoencoder.tflite", force=True)
    for name in ("calibration.npz", "autoencoder.onnx"):
        (HERE / name).unlink()


if __name__ == "__main__":
    main()
