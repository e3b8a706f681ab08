"""The models whose layers the cost model is measured with.

Those of the benchmarks; those of recurrent operators, and the audio front end; those of `samples.toml`, in which a
layer shape is added; small models of many operators, for kernels that no benchmark uses; and drawn layers, for fits
that hold beyond the benchmarks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from support import layer_shapes, models, sequences, zoo

#: Models of recurrent operators and of those of the audio front end.
RECURRENT = ("lstm", "lstm_f32", "svdf", sequences.FRONT_END)

MODELS = (*models.INT8, models.SHIPPED, models.SHIPPED_FLOAT, *models.FLOAT, *models.HYBRID, *RECURRENT)

#: Models of drawn layers, which are measured with all kernels too: most channels by seed; small ones for small boards.
DRAWN = {0: 64, 1: 64, 2: 64, 3: 64, 4: 24, 5: 24, 6: 16}

#: Seeds of models of drawn operators of other kinds.
OTHERS = range(3)

#: Models whose predictions are compared with what was measured, each from the samples of all others.
LEFT_OUT = (*models.INT8, models.SHIPPED, *(f"drawn_{seed}" for seed in DRAWN), *(f"drawn_others_{n}" for n in OTHERS))

#: Cores that have several kernels for an operator, and models that show them all, beside those of `samples.toml`.
CHOOSING = ("m3", "m4", "m55")
_SHOWING = ("kws", "vww", "sww", models.SHIPPED, "many_ops_int8", "lstm", "svdf", sequences.FRONT_END)


def generated() -> dict[str, Callable[[], bytes]]:
    """Returns what makes each model that no file holds, by its name."""
    made: dict[str, Callable[[], bytes]] = {
        f"many_ops_{dtype.__name__}": partial(zoo.many_ops, dtype) for dtype in (np.int8, np.float32)
    }
    made |= {name: partial(layer_shapes.model, layers) for name, layers in layer_shapes.read().items()}
    made |= {f"drawn_others_{seed}": partial(zoo.drawn_others, seed) for seed in OTHERS}
    return made | {f"drawn_{seed}": partial(zoo.drawn_layers, seed, most=most) for seed, most in DRAWN.items()}


def shows_all_kernels(name: str) -> bool:
    """Returns whether a model is measured with other kernels than the first choice too."""
    return name in _SHOWING or name.startswith("drawn") or name in layer_shapes.read()


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
