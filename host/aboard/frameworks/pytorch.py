"""PyTorch: exported programs and modules become ONNX files, by PyTorch's own exporter."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aboard.errors import InputError
from aboard.frameworks import extras


def convert(source: Path, folder: Path) -> bytes:
    """Returns the ONNX file of an exported program (`.pt2`).

    The process has TORCH_FORCE_WEIGHTS_ONLY_LOAD, so that no pickle in the file runs code.

    Args:
        source: The file.
        folder: For temporary files.

    Raises:
        Exception: Of any class, from PyTorch; `explain` has the reason.
    """
    del folder
    import torch

    return _exported(torch.export.load(source), (), {})


def of_model(model: Any, example_inputs: object) -> bytes:
    """Returns the ONNX file of a module as it computes in evaluation, or of an exported program.

    Args:
        model: `torch.nn.Module` or `torch.export.ExportedProgram`. It is left in the mode that it had.
        example_inputs: Arguments of a call with one sample: a tensor or array, a tuple of them, or a dictionary by
            name. An exported program takes none.

    Raises:
        InputError: A module comes without example inputs.
        Exception: As for `convert`.
    """
    if not hasattr(model, "training"):
        return _exported(model, (), {})
    if example_inputs is None:
        raise InputError(
            f"{type(model).__name__}: a module of PyTorch without example_inputs, expected the arguments of a call. "
            "Give a tensor with one sample, or a tuple: example_inputs=(torch.zeros(1, 3, 32, 32),)"
        )
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return _exported(model, *_arguments(example_inputs))
    finally:
        for module, is_training in modes.items():
            module.training = is_training


def _arguments(given: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns positional arguments and those by name."""
    if isinstance(given, Mapping):
        return (), {name: _tensor(value) for name, value in given.items()}
    return tuple(map(_tensor, given)) if isinstance(given, tuple | list) else (_tensor(given),), {}


def _tensor(value: object) -> Any:
    import torch

    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _exported(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    import torch

    with _quietly():
        program = torch.onnx.export(model, args, kwargs=kwargs or None, dynamo=True, verbose=False)
    made = program.model_proto
    _forget_sources(made.graph)
    return bytes(made.SerializeToString())


def _forget_sources(graph: Any) -> None:
    """Removes the lines of Python that nodes and values came from: paths of this machine, which change the hash."""
    for each in (graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del each.metadata_props[:]
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _forget_sources(inner)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keeps the exporter's messages, which are those of a conversion that succeeds too, from the user."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def explain(error: Exception) -> tuple[str, str]:
    """Returns the reason of a failed conversion, and what to do."""
    cause: BaseException = error
    while cause.__cause__ is not None:  # PyTorch wraps reasons in steps of its exporter
        cause = cause.__cause__
    text = f"{error} {cause}"
    first = next(iter(str(cause).strip().splitlines()), "")
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name} is missing", f"Run pip install {extras.requirements('torch')}"
    if "weights_only" in text or "Weights only" in text or "weights only" in text:
        return (
            "it holds a pickle that runs code, which is not loaded",
            "Load it in Python, and call `aboard.compile(program, target)`",
        )
    if "No ONNX function" in text:
        return first, "Replace the operator that the reason names"
    if "data-dependent" in text or "GuardOnDataDependent" in type(cause).__name__:
        return f"its path depends on values: {first}", "Write the branch with `torch.where` or `torch.cond`"
    return f"{type(cause).__name__}: {first}", "Export the network again with the installed version of PyTorch"
