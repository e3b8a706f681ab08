"""Runs the converter of a framework in a process of its own, which keeps its messages, memory and crashes to itself."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from aboard.base import programs, scratch
from aboard.errors import ExtraError, ModelError
from aboard.frameworks import extras
from aboard.frameworks.signatures import FrameworkFormat

_TIMEOUT_S = 900

#: Of the process: no GPU, no messages, and no pickle in a file of PyTorch is run.
_ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1",
    "PYTHONWARNINGS": "ignore",
}


def require(kind: FrameworkFormat, where: str) -> None:
    """Checks that the package of a framework is installed, without importing it.

    Raises:
        ExtraError: It is not.
    """
    if importlib.util.find_spec(kind.package) is None:
        raise ExtraError(
            f"{where}: {kind.name}, which the package {kind.package} converts (extra {kind.extra} of aboard); got no "
            f"such package. Run:\n    pip install {extras.requirements(kind.extra)}"
        )


def convert(source: Path, kind: FrameworkFormat, where: str) -> bytes:
    """Returns the TFLite or ONNX file that a framework makes of its own file.

    Args:
        source: The file or folder, absolute.
        kind: Its format.
        where: Its name, the start of every error message.

    Raises:
        ExtraError: The framework is not installed.
        ModelError: The framework refuses the file, or its process fails.
        ToolError: No temporary folder can be made.
    """
    require(kind, where)
    with scratch.Scratch() as folder:
        result, problem = folder / "result", folder / "problem.json"
        words = [sys.executable, "-m", "aboard.frameworks.worker", kind.converter, str(source), str(folder)]
        try:
            code, printed = programs.run_tethered(words, folder, _environment(), _TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{where}: {kind.name}, whose conversion by {kind.package} did not end within {_TIMEOUT_S} s. Convert "
                "it yourself (docs/how-to/bring_your_own_model.md)"
            ) from error
        if problem.is_file():
            facts = json.loads(problem.read_text(encoding="utf-8"))
            raise ModelError(
                f"{where}: {kind.name}, which {kind.package} does not convert ({facts['reason']}). {facts['advice']}"
            )
        if code != 0 or not result.is_file():
            last = " ".join(printed.strip().splitlines()[-1:])[:300]
            raise ModelError(
                f"{where}: {kind.name}, at which the converter of {kind.package} crashed (exit code {code}: {last}). "
                "Save the model again, or convert it yourself (docs/how-to/bring_your_own_model.md)"
            )
        return result.read_bytes()


def _environment() -> dict[str, str]:
    """Returns the environment of the process, which finds this very package."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}
