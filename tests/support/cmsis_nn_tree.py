"""CMSIS-NN's sources for tests: a tree of the user's, and a stand-in made of recorded declarations.

`CMSIS_NN_PATH` names the tree. Tests that need it take it from `@pytest.mark.parametrize("tree", trees())`, and are
deselected where the variable is not set; pytest's first lines say which of both is the case. The stand-in has the
declarations of `tests/data/cmsis_nn` with bodies that compute nothing, so that the whole way from a model to compiled
code is tested everywhere.

`python -m support.cmsis_nn_tree` (in `tests/`, with a tree) records the sizes of buffers anew.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from aboard.backends.cmsis_nn.geometry import Size, Unit, WindowedLayer
from aboard.backends.cmsis_nn.library import VARIABLE

DATA = Path(__file__).resolve().parents[1] / "data" / "cmsis_nn"
RECORDED = DATA / "buffer_sizes.json"
HEADER = Path("Include") / "arm_nnfunctions.h"

#: What a size is asked for: the functions' names in C without `arm_` and `_s8_get_buffer_size`.
WINDOWS = ("convolve_wrapper", "depthwise_conv_wrapper")
_SUFFIX = {Unit.C: "", Unit.DSP: "_dsp", Unit.MVE: "_mve"}

_QUESTIONS = """
#include "arm_nnfunctions.h"
#define MOVES .stride = {v[11], v[10]}, .padding = {v[13], v[12]}, .dilation = {v[15], v[14]}
#define DIMS(inputs, count) \\
    in = {v[0], v[1], v[2], v[3]}, w = {count, v[4], v[5], inputs}, out = {v[0], v[7], v[8], v[9]}
#define ASK(suffix) \\
    int ask_convolve_wrapper##suffix(const int *v) { \\
        const cmsis_nn_conv_params p = {MOVES}; \\
        const cmsis_nn_dims DIMS(v[6], v[9]); \\
        return arm_convolve_wrapper_s8_get_buffer_size##suffix(&p, &in, &w, &out); \\
    } \\
    int ask_depthwise_conv_wrapper##suffix(const int *v) { \\
        const cmsis_nn_dw_conv_params p = {.ch_mult = v[9] / v[3], MOVES}; \\
        const cmsis_nn_dims DIMS(v[9], 1); \\
        return arm_depthwise_conv_wrapper_s8_get_buffer_size##suffix(&p, &in, &w, &out); \\
    } \\
    int ask_avgpool##suffix(const int *v) { return arm_avgpool_s8_get_buffer_size##suffix(v[8], v[3]); } \\
    int ask_fully_connected##suffix(const int *v) { \\
        const cmsis_nn_dims w = {v[3], 1, 1, v[9]}; \\
        return arm_fully_connected_s8_get_buffer_size##suffix(&w); \\
    }
ASK()
ASK(_dsp)
ASK(_mve)
"""
QUESTIONS = (*WINDOWS, "avgpool", "fully_connected")
_SIZES = ("convolve", "depthwise_conv", "avgpool", "fully_connected")


def trees() -> list[Path]:
    """Returns the tree that the environment names, or nothing."""
    return [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []


def report() -> str:
    """Returns a line that says whether tests with a tree are selected."""
    found = trees()
    return (
        f"CMSIS-NN: {found[0]}" if found else f"CMSIS-NN: {VARIABLE} is not set, tests that need a tree are deselected"
    )


def declarations(header: str) -> dict[str, tuple[str, ...]]:
    """Returns result and parameter types of each function that a header declares, by its name."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    found = re.findall(r"^(\w+)\s+(arm_\w+)\s*\(([^(){};]*)\)\s*;", bare, re.MULTILINE)
    return {name: (result, *(_type(word) for word in parameters.split(","))) for result, name, parameters in found}


def fields(header: str) -> dict[str, tuple[str, ...]]:
    """Returns the fields of each struct of CMSIS-NN that a header defines, with their types."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.DOTALL)
    found = re.findall(r"typedef struct\s*\{([^{}]*)\}\s*(\w+)\s*;", bare)
    return {name: tuple(" ".join(word.split()) for word in body.split(";") if word.strip()) for body, name in found}


def _type(parameter: str) -> str:
    words = re.findall(r"\w+|\*", parameter)
    return " ".join(words[:-1])


def stand_in(folder: Path) -> Path:
    """Writes a tree with the recorded declarations, and bodies that do nothing; returns its folder."""
    header = (DATA / HEADER).read_text(encoding="utf-8")
    (folder / "Include").mkdir(parents=True)
    (folder / "Source").mkdir()
    (folder / HEADER).write_text(header, encoding="utf-8")
    (folder / "LICENSE").write_text("The licence of the stand-in.\n", encoding="utf-8")
    for name, (result, *types) in declarations(header).items():
        parameters = ", ".join(f"{ctype} a{index}" for index, ctype in enumerate(types))
        unused = "".join(f"    (void)a{index};\n" for index in range(len(types)))
        body = "" if result == "void" else "    return ARM_CMSIS_NN_SUCCESS;\n"
        text = f'#include "arm_nnfunctions.h"\n\n{result} {name}({parameters})\n{{\n{unused}{body}}}\n'
        (folder / "Source" / f"{name}.c").write_text(text, encoding="utf-8")
    return folder


@lru_cache(maxsize=2)
def _library(tree: Path) -> Any:
    """Returns the functions for buffer sizes, compiled for this machine; those for the other units are among them."""
    folder = Path(tempfile.mkdtemp(prefix="aboard-sizes-"))
    (folder / "ask.c").write_text(_QUESTIONS, encoding="utf-8")
    sources = [next(tree.glob(f"Source/*/arm_{name}_get_buffer_sizes_s8.c")) for name in _SIZES]
    command = ["gcc", "-std=gnu99", "-w", "-shared", "-fPIC", f"-I{tree / 'Include'}", "ask.c", *map(str, sources)]
    subprocess.run([*command, "-o", "libask.so"], cwd=folder, check=True)
    ffi = cffi.FFI()
    ffi.cdef("".join(f"int ask_{name}{suffix}(const int *v);" for name in QUESTIONS for suffix in _SUFFIX.values()))
    return ffi.dlopen(str(folder / "libask.so"))


def ask(tree: Path, question: str, window: WindowedLayer, unit: Unit) -> int:
    """Returns what the compiled function of a tree says for a window (of a pool, of a matrix in its channels)."""
    answer: int = getattr(_library(tree), f"ask_{question}{_SUFFIX[unit]}")(numbers(window))
    return answer


def numbers(window: WindowedLayer) -> list[int]:
    """Returns a window as a list, as it is recorded."""
    flat: list[int] = []
    for value in dataclasses.astuple(window):
        flat += value if isinstance(value, tuple) else [value]
    return flat


def window(values: Sequence[int]) -> WindowedLayer:
    """Returns the window that `numbers` wrote."""
    v = list(values)
    size = [Size(v[i], v[i + 1]) for i in (1, 4, 7, 10, 12, 14)]
    return WindowedLayer(v[0], size[0], v[3], size[1], v[6], size[2], v[9], *size[3:])


def random_window(rng: np.random.Generator, *, depthwise: bool) -> WindowedLayer:
    """Returns a window that a model could have: padding as SAME or VALID give it."""
    line = rng.random() < 0.4
    stride, dilation = rng.integers(1, 4, 2).tolist(), [1, 1] if rng.random() < 0.7 else rng.integers(1, 3, 2).tolist()
    taps = rng.integers(1, 6, 2).tolist() if rng.random() < 0.8 else [3, 3]
    taps = [1, taps[1]] if line else taps
    same = rng.random() < 0.5
    pixels, result, pads = [], [], []
    for axis in range(2):
        reach = (taps[axis] - 1) * dilation[axis] + 1
        size = 1 if line and axis == 0 else int(rng.integers(1 if same else reach, reach + 9))
        count = -(-size // stride[axis]) if same else (size - reach) // stride[axis] + 1
        pads.append(max((count - 1) * stride[axis] + reach - size, 0) // 2 if same else 0)
        pixels.append(size)
        result.append(count)
    channels = int(rng.choice([1, 2, 3, 4, 8, 16, 33, 130]))
    outputs = channels * int(rng.choice([1, 1, 2, 4])) if depthwise else int(rng.integers(1, 20))
    batch, depth = int(rng.integers(1, 3)), 1 if depthwise else channels
    return WindowedLayer(
        batch, Size(*pixels), channels, Size(*taps), depth, Size(*result), outputs, Size(*stride), Size(*pads),
        Size(*dilation),
    )  # fmt: skip


def recorded() -> list[Mapping[str, Any]]:
    """Returns the recorded sizes: function, window, and what it says for each unit."""
    entries: list[Mapping[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return entries


def _record(tree: Path) -> None:
    rng = np.random.default_rng(7)
    lines = []
    for number in range(160):
        question = QUESTIONS[number % len(QUESTIONS)]
        drawn = random_window(rng, depthwise=question != "convolve_wrapper")
        answers = {unit.value: ask(tree, question, drawn, unit) for unit in Unit}
        lines.append(json.dumps({"function": question, "window": numbers(drawn), **answers}))
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    _record(trees()[0])
