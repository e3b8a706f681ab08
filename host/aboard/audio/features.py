"""Features of audio as a device computes them: a front end run window by window, bit for bit.

A front end is a model that takes one window of samples, such as a graph of the signal operators. On the device, the
caller gives it the windows of a stream::

    samples   |--------------------------------------------------------->
    window 0  [===================]
    window 1            [===================]
    window 2                      [===================]
              <- step ->

What the operators keep from window to window, such as the estimate of the noise, is state of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from aboard.compiler.pipeline import compile_model
from aboard.errors import InputError
from aboard.importers import load
from aboard.ir import Array, DType, Graph
from aboard.ops import interpreter

#: Target of the C code that runs in this process.
_HERE = "c -runtime=host"

Samples = npt.NDArray[np.int16]


class _Engine(Protocol):
    """Runs the front end on one window after another."""

    def run(self, window: Samples) -> Array:
        """Returns the features of the next window, given in the shape of the model's input."""

    def reset(self) -> None:
        """Gives every state its initial value."""


class Features:
    """A front end on the host. One object is one stream.

    With `compiled` it runs the C code that a device would, in this process; this needs a C compiler. Otherwise it
    computes in numpy, about a hundred times slower. Both give the bits of TensorFlow Lite for Microcontrollers.

    Attributes:
        window: Samples of a window.
        step: Samples from the start of a window to the start of the next.
        shape: Shape of the features of a window.
        dtype: Their element type.
    """

    def __init__(self, model: str | Path | bytes, step: int, *, compiled: bool = True) -> None:
        """Reads a front end.

        Args:
            model: A TFLite file, its path or its bytes: one input of int16 samples, and one output.
            step: Samples from the start of a window to the start of the next, from 1 to the window's.
            compiled: True to run C, False to compute in numpy.

        Raises:
            ModelError: The model cannot be read.
            InputError: The model has other inputs or outputs, or the step is out of range.
            ToolError: There is no C compiler, or it failed.
        """
        graph = load(model)
        if len(graph.inputs) != 1 or graph.inputs[0].dtype is not DType.INT16 or len(graph.outputs) != 1:
            got = ", ".join(f"{tensor.name} {tensor.type}" for tensor in (*graph.inputs, *graph.outputs))
            raise InputError(
                f"{graph.source}: inputs and outputs, got {got}, expected one input of int16 samples and one output. "
                "Give the front end alone"
            )
        self.window = graph.inputs[0].type.elements
        if not 1 <= step <= self.window:
            raise InputError(f"step, got {step} samples, expected 1 to {self.window}, those of a window. Change it")
        self.step = step
        self.shape, self.dtype = graph.outputs[0].shape, np.dtype(graph.outputs[0].dtype.numpy)
        self._input = graph.inputs[0].shape
        self._engine: _Engine = _Compiled(model) if compiled else _Interpreted(graph)
        self._kept: Samples = np.zeros(0, np.int16)

    def __call__(self, samples: Samples) -> npt.NDArray[Any]:
        """Returns the features of all windows that these samples complete.

        Samples that belong to later windows are kept for the next call, so that a stream may come in blocks of any
        length.

        Args:
            samples: The next samples of the stream, int16 [count].

        Returns:
            Features [windows, *shape].

        Raises:
            InputError: The samples are not int16, or have more than one axis.
        """
        given = np.asarray(samples)
        if given.dtype != np.int16 or given.ndim != 1:
            raise InputError(
                f"samples, got {given.dtype}{list(given.shape)}, expected int16 on one axis. "
                "Scale floats by 32768, round them and limit them to int16; give one channel"
            )
        stream = np.concatenate([self._kept, given])
        count = max(0, (len(stream) - self.window) // self.step + 1)
        features = np.zeros((count, *self.shape), self.dtype)
        for index in range(count):
            start = index * self.step
            features[index] = self._engine.run(stream[start : start + self.window].reshape(self._input))
        self._kept = stream[count * self.step :]
        return features

    def clips(self, samples: Samples) -> npt.NDArray[Any]:
        """Returns the features of clips of one length; each begins after a reset, as does the stream afterwards.

        Args:
            samples: int16 [clips, count].

        Returns:
            Features [clips, windows, *shape].

        Raises:
            InputError: The samples are not int16 with two axes.
        """
        given = np.asarray(samples)
        if given.dtype != np.int16 or given.ndim != 2:
            raise InputError(
                f"clips, got {given.dtype}{list(given.shape)}, expected int16 [clips, samples]. "
                "Give clips of one length as rows"
            )
        windows = max(0, (given.shape[1] - self.window) // self.step + 1)
        features = np.zeros((len(given), windows, *self.shape), self.dtype)
        for index, clip in enumerate(given):
            self.reset()
            features[index] = self(clip)
        self.reset()
        return features

    def reset(self) -> None:
        """Begins a new stream: forgets samples, and gives every state its initial value."""
        self._kept = np.zeros(0, np.int16)
        self._engine.reset()


class _Compiled:
    """Runs the code of a device in this process."""

    def __init__(self, model: str | Path | bytes) -> None:
        self._module = compile_model(model, target=_HERE)

    def run(self, window: Samples) -> Array:
        return np.asarray(self._module.run(window))

    def reset(self) -> None:
        self._module.reset_state()


class _Interpreted:
    """Computes in numpy."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._states: Mapping[str, Array] = {}
        self.reset()

    def run(self, window: Samples) -> Array:
        graph = self._graph
        values = interpreter.run_all(graph, {graph.inputs[0].name: window}, self._states)
        self._states = interpreter.next_states(graph, values)
        return values[graph.outputs[0].name]

    def reset(self) -> None:
        self._states = interpreter.initial_states(self._graph)
