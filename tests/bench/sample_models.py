"""The models whose layers the cost model is measured with.

Those of the benchmarks; those of recurrent operators, and the audio front end; those of `samples.toml`, in which a
layer shape is added; small models of many operators, of reductions and of recurrent layers of int16, for kernels that
no benchmark uses; products of matrices; and drawn layers, for fits that hold beyond the benchmarks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ops.test_lstm import Layer
from ops.test_svdf import Filter
from support import layer_shapes, models, products, reductions, sequences, single_layers, zoo
from support.layer_shapes import LayerShape
from support.reductions import Case
from support.tflite_builder import ModelBuilder

#: Models of recurrent operators and of those of the audio front end.
RECURRENT = ("lstm", "lstm_f32", "svdf", sequences.FRONT_END)

MODELS = (*models.INT8, models.SHIPPED, models.SHIPPED_FLOAT, *models.FLOAT, *models.HYBRID, *RECURRENT)

#: Models of drawn layers, which are measured with all kernels too: most channels by seed; small ones for small boards.
DRAWN = {0: 64, 1: 64, 2: 64, 3: 64, 4: 24, 5: 24, 6: 16}

#: Seeds of models of single layers, drawn as those that are held to limits (`layer_limits`), but other ones.
SINGLE = range(100, 110)

#: Layers of such a model.
_SINGLE_LAYERS = 11

#: Seeds of models of drawn operators of other kinds.
OTHERS = range(3)

#: Reductions of int8 along pixels and along the innermost axis, in models that are predicted from each other.
REDUCTIONS = {
    "reductions_small": reductions.CASES,
    "reductions_large": [
        Case("MEAN", (1, 10, 8, 64), (1, 2)),
        Case("MEAN", (1, 49, 40), (1,)),
        Case("SUM", (1, 12, 12, 24), (1, 2)),
        Case("SUM", (8, 200), (1,)),
        Case("REDUCE_MAX", (1, 16, 16, 20), (1, 2)),
        Case("REDUCE_MAX", (1, 49, 40), (2,)),
        Case("REDUCE_MIN", (1, 9, 9, 48), (1, 2)),
        Case("REDUCE_MIN", (16, 100), (1,)),
    ],
    "reductions_mixed": [
        Case("MEAN", (1, 5, 5, 32), (1, 2)),
        Case("SUM", (1, 6, 6, 40), (1, 2)),
        Case("SUM", (20, 64), (1,)),
        Case("REDUCE_MAX", (1, 8, 8, 64), (1, 2)),
        Case("REDUCE_MAX", (10, 128), (1,)),
        Case("REDUCE_MIN", (1, 12, 12, 16), (1, 2)),
        Case("REDUCE_MIN", (30, 30), (1,)),
    ],
    "reductions_deep": [
        Case("MEAN", (1, 7, 7, 128), (1, 2)),
        Case("MEAN", (1, 25, 5, 64), (1, 2)),
        Case("SUM", (1, 7, 7, 64), (1, 2)),
        Case("SUM", (12, 300), (1,)),
        Case("REDUCE_MAX", (1, 4, 4, 128), (1, 2)),
        Case("REDUCE_MAX", (24, 48), (1,)),
        Case("REDUCE_MAX", (1, 15, 15, 16), (1, 2)),
        Case("REDUCE_MIN", (1, 4, 4, 96), (1, 2)),
        Case("REDUCE_MIN", (6, 256), (1,)),
        Case("REDUCE_MIN", (1, 14, 14, 32), (1, 2)),
    ],
}

#: Products of matrices of int8, in models that are predicted from each other.
PRODUCTS = {
    "products_small": products.CASES,
    "products_square": [
        products.Case(16, 16, 16),
        products.Case(8, 24, 8, (2, 2)),
        products.Case(32, 32, 32, adj_y=True),
        products.Case(12, 48, 12, (2, 2), adj_y=True),
        products.Case(20, 20, 20, adj_x=True),
    ],
    "products_long": [
        products.Case(10, 64, 10, (2, 2), adj_y=True),
        products.Case(49, 16, 49, adj_y=True),
        products.Case(49, 49, 16),
        products.Case(6, 80, 14, (3, 3)),
        products.Case(30, 10, 40),
    ],
}

#: Layers of int16, which the models of others above do not have.
INT16: dict[str, Layer | Filter] = {
    "lstm_int16_small": Layer(np.int16, steps=4, inputs=10, units=8),
    "lstm_int16_large": Layer(np.int16, steps=8, inputs=24, units=20),
    "lstm_int16_deep": Layer(np.int16, steps=3, inputs=12, units=32),
    "lstm_int16_wide": Layer(np.int16, steps=5, inputs=48, units=6),
    "svdf_int16_small": Filter(np.int16, inputs=16, units=12, rank=1, memory=6),
    "svdf_int16_large": Filter(np.int16, inputs=40, units=32, rank=2, memory=10),
    "svdf_int16_long": Filter(np.int16, inputs=10, units=24, rank=1, memory=16),
}

#: Layers of float32: of whole blocks of pixels and channels, and of others.
FLOATS = {
    "float_shapes": (
        LayerShape("conv2d", (12, 12, 3), channels=16, window=3, stride=2),
        LayerShape("depthwise_conv2d", window=3),
        LayerShape("conv2d", channels=24),
        LayerShape("depthwise_conv2d", window=3, stride=2),
        LayerShape("conv2d", channels=32),
        LayerShape("conv2d", channels=16, window=3),
        LayerShape("fully_connected", channels=10),
        LayerShape("depthwise_conv2d", (14, 6, 32), window=5),
        LayerShape("fully_connected", (200,), channels=24),
    ),
    "float_odd_shapes": (
        LayerShape("conv2d", (11, 9, 5), channels=7, window=3),
        LayerShape("conv2d", channels=12, window=2),
        LayerShape("depthwise_conv2d", window=3),
        LayerShape("conv2d", channels=9),
        LayerShape("conv2d", channels=20, window=3, stride=2),
        LayerShape("depthwise_conv2d", window=5),
        LayerShape("conv2d", (5, 7, 40), channels=8),
        LayerShape("depthwise_conv2d", (9, 9, 8), window=3, stride=2),
        LayerShape("fully_connected", (50,), channels=6),
        LayerShape("fully_connected", (333,), channels=17),
    ),
}

#: Elements of conversions from and to float32, whose cost is that of a library where a core has no FPU.
CONVERSIONS = {"conversions_small": (60, 392), "conversions_large": (150, 520)}

#: Models whose predictions are compared with what was measured, each from the samples of all others.
LEFT_OUT = (*models.INT8, models.SHIPPED, *(f"drawn_{seed}" for seed in DRAWN), *(f"drawn_others_{n}" for n in OTHERS))

#: Cores that have several kernels for an operator, and models that show them all, beside those of `samples.toml`.
CHOOSING = ("m3", "m4", "m55")
_SHOWING = ("kws", "vww", "sww", models.SHIPPED, "many_ops_int8", "lstm", "svdf", sequences.FRONT_END)

#: Models that are measured with the kernels that are chosen for them alone: others compute four channels for one, for
#: which their figures have no term.
_CHOSEN_ONLY = ("one_channel", "one_channel_small")
_FLOATS = (*models.FLOAT, models.SHIPPED_FLOAT, "many_ops_float32", *FLOATS)


def generated() -> dict[str, Callable[[], bytes]]:
    """Returns what makes each model that no file holds, by its name."""
    made: dict[str, Callable[[], bytes]] = {
        f"many_ops_{dtype.__name__}": partial(zoo.many_ops, dtype) for dtype in (np.int8, np.float32)
    }
    made |= {name: partial(layer_shapes.model, layers) for name, layers in layer_shapes.read().items()}
    made |= {name: partial(reductions.model, cases) for name, cases in REDUCTIONS.items()}
    made |= {name: partial(products.model, cases) for name, cases in PRODUCTS.items()}
    made |= {name: partial(layer_shapes.model, layers, dtype=np.float32) for name, layers in FLOATS.items()}
    made |= {name: layer.model for name, layer in INT16.items()}
    made |= {name: partial(conversions, elements) for name, elements in CONVERSIONS.items()}
    made |= {f"drawn_others_{seed}": partial(zoo.drawn_others, seed) for seed in OTHERS}
    made |= {f"single_layers_{seed}": partial(_single_layers, seed) for seed in SINGLE}
    return made | {f"drawn_{seed}": partial(zoo.drawn_layers, seed, most=most) for seed, most in DRAWN.items()}


def _single_layers(seed: int) -> bytes:
    return single_layers.model(single_layers.drawn(_SINGLE_LAYERS, seed), seed)


def conversions(elements: Sequence[int]) -> bytes:
    """Returns a model with a QUANTIZE and a DEQUANTIZE of each number of elements."""
    build = ModelBuilder()
    for number, count in enumerate(elements):
        for kind, (source, result) in {"QUANTIZE": ("x", "q"), "DEQUANTIZE": ("r", "y")}.items():
            for name in (source, result):
                quant: dict[str, Any] = {"scale": 0.04, "zero_point": -9} if name in "qr" else {}
                build.tensor(f"{name}{number}", (1, count), np.int8 if quant else np.float32, **quant)
            build.op(kind, [f"{source}{number}"], [f"{result}{number}"])
    names = range(len(elements))
    return build.build([f"{x}{n}" for n in names for x in "xr"], [f"{y}{n}" for n in names for y in "qy"])


def shows_all_kernels(name: str) -> bool:
    """Returns whether a model is measured with other kernels than the first choice too."""
    shown = (*_SHOWING, *_FLOATS, *REDUCTIONS, *PRODUCTS, *INT16)
    return (
        name in shown
        or name.startswith(("drawn", "single_layers"))
        or (name in layer_shapes.read() and name not in _CHOSEN_ONLY)
    )


def known() -> list[str]:
    """Returns the names of all models that can be measured here."""
    return [*models.available(MODELS), *generated()]


@contextmanager
def files(names: Collection[str]) -> Iterator[list[Path]]:
    """Yields the files of models of `known`, in its order; generated ones exist as long as the context lasts.

    Raises:
        ValueError: A name is that of no such model.
    """
    if unknown := sorted(set(names) - set(known())):
        expected = ", ".join(known())
        raise ValueError(f"model {', '.join(unknown)}: not known, expected some of {expected}. Correct the name")
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        found = [path for name in models.available(MODELS) if name in names and (path := models.path(name))]
        for name, make in generated().items():
            if name in names:
                found.append(Path(folder) / f"{name}.tflite")
                found[-1].write_bytes(make())
        yield found
