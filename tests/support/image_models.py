"""Random int8 models of images: chains and branches of what cascades are made of."""

from __future__ import annotations

import numpy as np

from support.channel_models import ChannelModel


def image_model(seed: int) -> bytes:
    """Returns a model of convolutions, poolings, sums and activations over images, all drawn from the seed."""
    rng = np.random.default_rng([seed, 7])
    model = ChannelModel(seed, (1, int(rng.integers(8, 20)), int(rng.integers(2, 8)), int(rng.choice([1, 3, 4]))))
    outputs: list[str] = []
    for _ in range(int(rng.integers(2, 7))):
        _step(model, rng)
        if rng.random() < 0.1:
            outputs.append(model.last)
    if rng.random() < 0.5:
        global_average(model)
    return model.build(*(name for name in outputs if name != model.last))


def _step(model: ChannelModel, rng: np.random.Generator) -> None:
    small = min(model.shape[1:3]) < 3
    window = (int(rng.integers(1, 5)), int(rng.integers(1, 4)))
    stride, padding = int(rng.integers(1, 3)), "SAME" if small else str(rng.choice(["SAME", "VALID"]))
    before, channels = model.last, model.shape[-1]
    outputs = int(rng.choice([4, 6, 8, 12]))

    def residual() -> None:
        # The branch is stepped with its sibling; both read the same image.
        model.conv(channels, (3, 3)).conv(channels, (int(rng.choice([1, 3])), 3)).binary("ADD", before)

    def two_branches() -> None:
        shape, scale, zero_point = model.shape, model.scale, model.zero_point
        model.conv(outputs, (1, 1), stride)
        short = model.last
        model.last, model.shape, model.scale, model.zero_point = before, shape, scale, zero_point
        model.conv(outputs, (3, 3), stride).binary("ADD", short)

    steps = [
        lambda: model.conv(outputs, window if not small else (1, 1), stride, padding),
        lambda: model.conv(outputs, (1, 1)),
        lambda: model.depthwise(1, (3, 3), stride, "SAME"),
        lambda: model.depthwise(1, window if not small else (1, 1), stride, padding),
        lambda: model.pool(str(rng.choice(["AVERAGE", "MAX"]))),
        lambda: model.unary(str(rng.choice(["RELU", "LOGISTIC", "HARD_SWISH"]))),
        lambda: model.binary(str(rng.choice(["ADD", "SUB", "MUL"]))),
        residual,
        two_branches,
    ]
    steps[int(rng.integers(len(steps)))]()


def global_average(model: ChannelModel) -> None:
    """Adds an average over the whole image."""
    n, h, w, c = model.shape
    options = {"FilterHeight": h, "FilterWidth": w, "StrideH": h, "StrideW": w, "Padding": "VALID"}
    model.op("AVERAGE_POOL_2D", [model.last], (n, 1, 1, c), options, same=True)
