"""Chosen depthwise layers of small images and of columns for Helium."""

from __future__ import annotations

from support.mve_layers import depthwise
from support.weighted_models import Layer


def shared_images() -> list[Layer]:
    """Returns depthwise layers of images whose lines share groups: every number of last results, odd and even lines."""
    sizes = [(25, 5), (18, 5), (16, 5), (13, 4), (10, 6), (9, 8), (3, 33), (5, 26)]
    layers = [depthwise(size, (3, 3), channels) for size, channels in zip(sizes, [16, 32, 20, 16] * 2, strict=True)]
    for layer in layers:
        layer.zero_point_out, layer.options = -128, {**layer.options, "FusedActivationFunction": "RELU"}
    return layers


def columns() -> list[Layer]:
    """Returns depthwise layers of one column: one to four groups of results, whole, half, and with fewer left over."""
    taps = [3, 5, 10, 13, 1]
    layers = [
        depthwise((results + taps[results % 5] - 1, 1), (taps[results % 5], 1), (16, 20, 32)[results % 3], "VALID")
        for results in range(1, 36)
    ]
    for number, layer in enumerate(layers):
        if number % 2:
            layer.zero_point_out, layer.options = -128, {**layer.options, "FusedActivationFunction": "RELU"}
        else:
            layer.zero_point_out = (-7, 0, 127)[number % 3]
    twice = depthwise((12, 1), (4, 1), 16, "VALID")
    twice.shape_weights, twice.shape_out = (1, 4, 1, 32), (2, 9, 1, 32)
    twice.options = {**twice.options, "DepthMultiplier": 2}
    return [*layers, twice]


def shrinking() -> list[Layer]:
    """Returns depthwise layers whose results lie over pixels of the operand: columns, and images with strides."""
    columns = [depthwise((results + 4, 1), (5, 1), channels, "VALID") for results, channels in ((24, 128), (9, 16))]
    images = [
        depthwise((9, 5), (3, 3), 32, "SAME", 2),
        depthwise((12, 5), (4, 4), 64, "VALID", 2),
        depthwise((7, 10), (2, 3), 8, "VALID"),
        depthwise((8, 6), (3, 2), 16, "VALID"),
    ]
    return [*columns, *images]


def columns_of_any_rounding() -> list[Layer]:
    """Returns columns whose second rounding is a shift, of sums with any number of bits, and others with limits.

    Channels are whole blocks or not, in words or not, and some have several channels of the result for each.
    """
    shifted, limited = [(1 << 20, 60.0), (1 << 24, 60.0), (-(1 << 26), 60.0)], [(0, 1.0)]
    found = []
    for finishes, activation in ((shifted, "NONE"), (limited, "RELU_N1_TO_1")):
        for number, results in enumerate([32, 25, 22, 17, 16, 12, 9, 7]):
            channels = (16, 6, 20, 48, 18, 36, 2, 24)[number]
            layer = depthwise((results + 4, 1), (5, 1), channels, "VALID")
            layer.outlier, layer.spread = finishes[number % len(finishes)]
            layer.options = {**layer.options, "FusedActivationFunction": activation}
            if channels < 16:
                layer.shape_weights, layer.shape_out = (1, 5, 1, 3 * channels), (2, results, 1, 3 * channels)
                layer.options = {**layer.options, "DepthMultiplier": 3}
            found.append(layer)
    return found


def columns_of_fours() -> list[Layer]:
    """Returns columns of which four channels are packed at once: of 13 pixels and more, with any rest of sixteen."""
    sizes = [(13, 3), (15, 4), (16, 5), (17, 6), (18, 2), (28, 5), (31, 1), (32, 1), (33, 8), (35, 12), (36, 5)]
    channels = [8, 20, 12, 8, 36, 128, 8, 12, 24, 16, 8]
    return [depthwise((n, 1), (k, 1), c, "VALID") for (n, k), c in zip(sizes, channels, strict=True)]


def images_of_few_lines() -> list[Layer]:
    """Returns depthwise layers whose lines are packed all together: one to three strips, any rest of four pixels."""
    sizes = [(25, 5), (4, 1), (5, 2), (6, 3), (7, 4), (10, 6), (3, 9), (2, 14)]
    channels = [16, 32, 48, 16, 16, 32, 16, 16]
    layers = [depthwise(size, (3, 3), count) for size, count in zip(sizes, channels, strict=True)]
    return [*layers, depthwise((19, 7), (3, 3), 16, "VALID"), depthwise((3, 12), (2, 3), 16, "VALID")]


def images_of_fours() -> list[Layer]:
    """Returns depthwise layers whose strips are packed four channels at a time, by loads that gather: every form."""
    forms = [
        ((12, 12), (3, 3), 16), ((9, 13), (3, 3), 32), ((8, 30), (2, 3), 8), ((13, 22), (4, 4), 20),
        ((10, 9), (7, 5), 12), ((11, 14), (1, 3), 24), ((30, 10), (3, 1), 28),
    ]  # fmt: skip
    layers = [depthwise(size, window, count) for size, window, count in forms]
    strided = [depthwise(size, (3, 3), count, stride=2) for size, count in (((48, 20), 16), ((13, 15), 8))]
    dilated = [depthwise((15, 14), (3, 3), 12, dilation=2)]
    valid = [depthwise((9, 13), (3, 3), 36, "VALID"), depthwise((13, 12), (7, 6), 20, "VALID")]
    return [*layers, *strided, *dilated, *valid]
