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


#: Most weights of a convolution of `wide_image_model`, so that a model is compiled and run in a second.
_MOST_WEIGHTS = 40_000

_CHANNELS = (1, 2, 3, 5, 8, 16, 31, 33, 64, 70)


def wide_image_model(seed: int) -> bytes:
    """Returns a model of an image with large windows: up to 9 rows, dilated, strides up to 4, 1 to 70 channels.

    Most results have two readers or three, which need different rows of it at the same time.
    """
    rng = np.random.default_rng([seed, 11])
    shape = (1, int(rng.integers(14, 40)), int(rng.integers(1, 10)), int(rng.choice(_CHANNELS)))
    model = ChannelModel(seed, shape)
    for _ in range(int(rng.integers(2, 5))):
        _wide_step(model, rng)
    if rng.random() < 0.3:
        global_average(model)
    return model.build()


def _wide_step(model: ChannelModel, rng: np.random.Generator) -> None:
    kind = str(rng.choice(["conv", "depthwise", "pool", "branches", "branches"]))
    window = (int(rng.integers(1, 10)), int(rng.integers(1, 6)))
    dilation = int(rng.choice([1, 1, 2, 3])) if kind != "pool" else 1
    stride = int(rng.integers(1, 5)) if model.shape[1] > 8 else 1
    reach = [(taps - 1) * dilation + 1 for taps in window]
    fits = all(extent >= taps for extent, taps in zip(model.shape[1:3], reach, strict=True))
    padding = str(rng.choice(["SAME", "VALID"])) if fits else "SAME"
    fitting = [n for n in _CHANNELS if n * model.shape[3] * window[0] * window[1] <= _MOST_WEIGHTS]
    if kind == "pool":
        # As large as the image at most: the reference divides by what a window sees of it.
        window = tuple(min(taps, extent) for taps, extent in zip(window, model.shape[1:3], strict=True))
        model.pool(str(rng.choice(["AVERAGE", "MAX"])), window, min(stride, *window), padding)
    elif kind == "depthwise":
        model.depthwise(1, window, stride, padding, dilation)
    elif kind == "conv" and fitting:
        model.conv(int(rng.choice(fitting)), window, stride, padding, dilation)
    else:
        _branches(model, rng, window, dilation)


def _branches(model: ChannelModel, rng: np.random.Generator, window: tuple[int, int], dilation: int) -> None:
    """Adds branches over different windows of one result, and the sum of all."""
    before, shape, scale, zero_point = model.last, model.shape, model.scale, model.zero_point
    total = None
    for number in range(int(rng.integers(1, 3))):
        model.last, model.shape, model.scale, model.zero_point = before, shape, scale, zero_point
        model.depthwise(1, window if number == 0 else (int(rng.integers(1, 10)), 1), dilation=dilation)
        total = model.last if total is None else model.binary("ADD", total).last
    model.binary("ADD", before)


def global_average(model: ChannelModel) -> None:
    """Adds an average over the whole image."""
    n, h, w, c = model.shape
    options = {"FilterHeight": h, "FilterWidth": w, "StrideH": h, "StrideW": w, "Padding": "VALID"}
    model.op("AVERAGE_POOL_2D", [model.last], (n, 1, 1, c), options, same=True)
