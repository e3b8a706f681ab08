"""Trains the model of this example and makes its test: keywords.tflite and test.npz.

    apt install espeak-ng
    pip install -e '.[onnx]'
    python train.py

numpy trains: three convolutions over time, an average and a dense layer, with Adam. The network is written as ONNX, and
`aboard.quantize` makes the int8 model. It takes some minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

import aboard
import front_end
import speech
from aboard.frontend.audio import LOG_SCALE

HERE = Path(__file__).parent
SEED = 7
EPOCHS, BATCH, RATE = 24, 64, 0.002
COUNT = front_end.FRONT_END.window + (front_end.FRAMES - 1) * front_end.FRONT_END.hop
#: Kernel, stride and channels of the convolutions over time.
LAYERS = ((6, 2, 24), (5, 2, 32), (3, 1, 32))
#: Samples of a test clip, and where its word begins.
CLIP, WORD = 5600, 400

Floats = npt.NDArray[np.float32]
Weights = list[Floats]


def clips(
    variants: tuple[str, ...], rng: np.random.Generator, copies: int
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Returns windows of samples [clips, COUNT] and labels: words at random places, cut off words, and noise."""
    found: list[npt.NDArray[np.int16]] = []
    labels: list[int] = []
    for label, word in speech.words(variants, every=4):
        for _ in range(copies):
            # A resampled voice is one of another size and another speed.
            varied = speech.resampled(word, int(len(word) * rng.uniform(0.85, 1.15)))
            room = max(COUNT - len(varied), 0)
            found.append(speech.mixed(rng, varied, int(rng.integers(0, room + 1)), COUNT))
            labels.append(label)
        if rng.random() < 0.5:
            seen = int(len(word) * rng.uniform(0.1, 0.5))
            found.append(speech.mixed(rng, word, seen - len(word) if rng.random() < 0.5 else COUNT - seen, COUNT))
            labels.append(0)
    for _ in range(len(found) // 12):
        found.append(speech.silence(rng, COUNT))
        labels.append(0)
    return np.stack(found), np.asarray(labels, np.int64)


def features(samples: npt.NDArray[np.int16]) -> Floats:
    """Returns the features of windows as real numbers [clips, FRAMES, channels], as the device computes them."""
    return (front_end.FRONT_END(samples) / LOG_SCALE).astype(np.float32)


def initial(rng: np.random.Generator) -> Weights:
    """Returns weights [kernel * inputs, outputs] and biases of all layers."""
    found, inputs = [], front_end.FRONT_END.channels
    for kernel, _, outputs in LAYERS:
        found += [rng.standard_normal((kernel * inputs, outputs)) * np.sqrt(2 / (kernel * inputs)), np.zeros(outputs)]
        inputs = outputs
    found += [rng.standard_normal((inputs, len(front_end.CLASSES))) * 0.1, np.zeros(len(front_end.CLASSES))]
    return [each.astype(np.float32) for each in found]


def windows(x: Floats, kernel: int, stride: int) -> Floats:
    """Returns the operands of a convolution [clips, positions, kernel * channels]."""
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=1)[:, ::stride]
    return np.ascontiguousarray(view.transpose(0, 1, 3, 2)).reshape(len(x), view.shape[1], -1)


def forward(weights: Weights, x: Floats) -> tuple[list[Floats], Floats]:
    """Returns the operands of all layers, and the logits."""
    operands = []
    for index, (kernel, stride, _) in enumerate(LAYERS):
        operands.append(windows(x, kernel, stride))
        x = np.maximum(operands[-1] @ weights[2 * index] + weights[2 * index + 1], 0)
    operands += [x, x.mean(axis=1)]
    return operands, operands[-1] @ weights[-2] + weights[-1]


def gradients(weights: Weights, x: Floats, labels: npt.NDArray[np.int64]) -> Weights:
    """Returns the gradients of the mean cross entropy."""
    operands, logits = forward(weights, x)
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    scores[np.arange(len(x)), labels] -= 1
    back = scores / len(x)
    found = [operands[-1].T @ back, back.sum(axis=0)]
    result = operands[-2]
    back = np.repeat((back @ weights[-2].T / result.shape[1])[:, None], result.shape[1], axis=1)
    for index in range(len(LAYERS) - 1, -1, -1):
        kernel, stride, outputs = LAYERS[index]
        back = back * (result > 0)
        operand = operands[index]
        found = [
            operand.reshape(-1, operand.shape[2]).T @ back.reshape(-1, outputs),
            back.sum(axis=(0, 1)),
            *found,
        ]
        if index:
            # Each operand gets the sum over the windows in which it is.
            parts = (back @ weights[2 * index].T).reshape(len(x), operand.shape[1], kernel, -1)
            result = np.maximum(operands[index - 1] @ weights[2 * index - 2] + weights[2 * index - 1], 0)
            back = np.zeros_like(result)
            for tap in range(kernel):
                back[:, tap : tap + stride * operand.shape[1] : stride] += parts[:, :, tap]
    return found


def trained(x: Floats, labels: npt.NDArray[np.int64], rng: np.random.Generator) -> Weights:
    """Returns trained weights for standardised features."""
    weights = initial(rng)
    first, second = ([np.zeros_like(each) for each in weights] for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        rate = RATE * (1 - epoch / EPOCHS)
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            step += 1
            for i, slope in enumerate(gradients(weights, x[rows], labels[rows])):
                first[i] = 0.9 * first[i] + 0.1 * slope
                second[i] = 0.999 * second[i] + 0.001 * slope**2
                mean, square = first[i] / (1 - 0.9**step), second[i] / (1 - 0.999**step)
                weights[i] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
                if weights[i].ndim == 2:
                    weights[i] *= 1 - 3e-4
        right = np.mean(forward(weights, x)[1].argmax(axis=1) == labels)
        print(f"epoch {epoch + 1}: {100 * right:.2f} % of the training", flush=True)
    return weights


def network(weights: Sequence[Floats], mean: float, deviation: float) -> onnx.ModelProto:
    """Returns the network for features that are not standardised: the first layer takes that over."""
    weights = [each.astype(np.float32) for each in weights]
    weights[1] = weights[1] - (weights[0].sum(axis=0) * mean / deviation).astype(np.float32)
    weights[0] = (weights[0] / deviation).astype(np.float32)
    channels = front_end.FRONT_END.channels
    nodes = [helper.make_node("Transpose", ["features"], ["t"], perm=[0, 3, 1, 2])]
    constants, name, inputs = [], "t", channels
    for index, (kernel, stride, outputs) in enumerate(LAYERS):
        taps = weights[2 * index].reshape(kernel, inputs, outputs).transpose(2, 1, 0)[..., None]
        constants += [numpy_helper.from_array(np.ascontiguousarray(taps), f"w{index}"),
                      numpy_helper.from_array(weights[2 * index + 1], f"b{index}")]  # fmt: skip
        nodes.append(helper.make_node("Conv", [name, f"w{index}", f"b{index}"], [f"c{index}"], strides=[stride, 1]))
        nodes.append(helper.make_node("Relu", [f"c{index}"], [f"r{index}"]))
        name, inputs = f"r{index}", outputs
    constants += [numpy_helper.from_array(weights[-2], "w"), numpy_helper.from_array(weights[-1], "b")]
    nodes += [
        helper.make_node("GlobalAveragePool", [name], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    shape = [1, front_end.FRAMES, 1, channels]
    values = [helper.make_tensor_value_info(*each) for each in (("features", TensorProto.FLOAT, shape),
              ("scores", TensorProto.FLOAT, [1, len(front_end.CLASSES)]))]  # fmt: skip
    graph = helper.make_graph(nodes, "keywords", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_clips(rng: np.random.Generator) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Returns compressed clips [110, CLIP] of other voices and their labels, 22 of each class, in random order."""
    by_label: dict[int, list[npt.NDArray[np.float64]]] = {label: [] for label in range(len(front_end.CLASSES))}
    for label, word in speech.words(speech.TEST_VARIANTS, every=1):
        by_label[label].append(word)
    found, labels = [], []
    for label, words in by_label.items():
        for index in rng.permutation(len(words))[:22]:
            found.append(speech.mixed(rng, words[index], WORD, CLIP))
            labels.append(label)
    order = rng.permutation(len(found))
    return speech.compressed(np.stack(found)[order]), np.asarray(labels, np.int8)[order]


def main() -> None:
    """Makes the clips, trains, quantises, and writes both files."""
    rng = np.random.default_rng(SEED)
    samples, labels = clips(speech.TRAIN_VARIANTS, rng, copies=5)
    print(f"{len(samples)} clips", flush=True)
    x = features(samples)
    mean, deviation = float(x.mean()), float(x.std())
    weights = trained((x - mean) / np.float32(deviation), labels, rng)
    model = network(weights, mean, deviation)
    chosen = rng.permutation(len(x))[:500]
    np.savez(HERE / "calibration.npz", x=x[chosen][:, :, None, :], y=labels[chosen])
    onnx.save(model, HERE / "keywords.onnx")
    aboard.quantize(HERE / "keywords.onnx", HERE / "calibration.npz").save(HERE / "keywords.tflite", force=True)
    for name in ("calibration.npz", "keywords.onnx"):
        (HERE / name).unlink()
    codes, wanted = test_clips(rng)
    np.savez_compressed(HERE / "test.npz", clips=codes, labels=wanted)


if __name__ == "__main__":
    main()
