"""Calls Vela in a process of its own, and reads what it writes."""

from __future__ import annotations

import csv
import functools
import os
import re
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.errors import TargetError, ToolError
from aboard.ir import Array
from aboard.target import Target
from aboard_ethos_u import install

#: Figures of memory and clock for Vela's choices, from the file of configurations in its package.
_SYSTEM = "Ethos_U55_High_End_Embedded"
_CONFIGURATIONS = "Arm/vela.ini"
_MEMORY = {"sram_only": "Sram_Only", "shared_sram": "Shared_Sram"}
_TIMEOUT_S = 600.0

_MAGIC = b"COP2"
_STREAM_CHUNK = 1
#: Words of the head of the payload, and of the head of a chunk.
_HEAD, _CHUNK = 4, 3
#: Places of the two words that the NPU's registers CONFIG and ID are compared with, in the header of the stream.
_CONFIG, _ID = 3, 4
_FAILED = re.compile(r"(?:Error|failed)\b.*", re.IGNORECASE)


@dataclass(frozen=True)
class Border:
    """An input or output of a compiled region.

    Attributes:
        region: Number of the base pointer.
        offset: Bytes from the base pointer.
        bytes: Size.
    """

    region: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class Compiled:
    """What Vela made of a TFLite file.

    Attributes:
        stream: The words of the command stream.
        config: The word that register CONFIG has to be equal to.
        id: The word for register ID.
        constants: Bytes of the read-only region, region 0.
        scratch_region: Number of the base pointer for scratch.
        scratch: Bytes of scratch.
        inputs: The inputs, in the order of the file.
        outputs: The outputs, in the order of the file.
        cycles: Cycles of the NPU by Vela's estimate.
    """

    stream: Array
    config: int
    id: int
    constants: Array
    scratch_region: int
    scratch: int
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]
    cycles: float


@functools.lru_cache(maxsize=64)
def compiled(model: bytes, target: Target, where: str) -> Compiled:
    """Compiles a TFLite file for the NPU, completely.

    Args:
        model: The file.
        target: The device.
        where: The region, for messages.

    Raises:
        ExtraError: Vela is missing, or is another release.
        TargetError: Vela refuses the file, or a part of it.
        ToolError: Vela did not end, or its output is not what is expected.
    """
    install.require()
    with Scratch() as folder:
        (folder / "region.tflite").write_bytes(model)
        code, text = _run(_command(target), folder, where)
        found = sorted((folder / "out").glob("*.npz"))
        if code != 0 or not found:
            raise TargetError(
                f"{where}: Vela refuses the region, got {_reason(text)!r}, expected every operator on the NPU. Keep "
                f"operators away from the device with -claim-nodes or -claim-ops; `aboard partition` shows the numbers"
            )
        try:
            with np.load(found[0], allow_pickle=True) as written:
                return _read(written, _cycles(folder / "out"))
        except (KeyError, ValueError, IndexError, struct.error, OSError) as error:
            raise ToolError(
                f"{where}: Vela's output cannot be read, got {error!r}, expected that of release {install.VERSION}. "
                f"Install it again: {install.INSTALL}"
            ) from error


def _command(target: Target) -> list[str]:
    optimise = str(target.attrs["optimise"]).capitalize()
    command = [sys.executable, "-m", "ethosu.vela", "region.tflite", "--output-dir", "out", "--output-format", "raw"]
    command += ["--accelerator-config", f"ethos-u55-{target.attrs['macs']}", "--optimise", optimise]
    command += ["--config", _CONFIGURATIONS, "--system-config", _SYSTEM]
    command += ["--memory-mode", _MEMORY[str(target.attrs["memory"])]]
    command += ["--separate-io-regions", "--cop-format", "COP2"]
    if "arena-max" in target.attrs:
        command += ["--arena-cache-size", str(target.attrs["arena-max"])]
    return command


def _run(command: list[str], folder: Path, where: str) -> tuple[int, str]:
    try:
        return programs.run_tethered(command, folder, os.environ, _TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{where}: Vela did not end, expected a result within {_TIMEOUT_S:g} s. Claim fewer nodes with -claim-nodes"
        ) from error


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [found.group() for line in lines if (found := _FAILED.search(line))]
    return (named or lines or ["no text"])[-1][:300]


def _read(written: Any, cycles: float) -> Compiled:
    words = np.frombuffer(written["cmd_data"].tobytes(), "<u4")
    header, stream = payload(words)
    constants = np.frombuffer(written["weight_data"].tobytes(), np.uint8)
    return Compiled(
        stream,
        int(header[_CONFIG]),
        int(header[_ID]),
        constants,
        int(written["scratch_region"]),
        int(written["scratch_size"]),
        _borders(written, "input"),
        _borders(written, "output"),
        cycles,
    )


def payload(words: Array) -> tuple[Array, Array]:
    """Returns header and words of the command stream in a payload for the driver, format COP2.

    Raises:
        ValueError: It is no such payload.
    """
    if words[:1].tobytes() != _MAGIC:
        raise ValueError(f"payload begins with {words[:1].tobytes()!r}")
    at = _HEAD
    while at + _CHUNK <= words.size:
        kind, size, header = (int(word) for word in words[at : at + _CHUNK])
        end = at + _CHUNK - 1 + size // 4
        if kind == _STREAM_CHUNK:
            begin = at + _CHUNK + header // 4
            return words[at + _CHUNK : begin], words[begin:end]
        at = end
    raise ValueError("payload without a command stream")


def _borders(written: Any, which: str) -> tuple[Border, ...]:
    rows = zip(
        written[f"{which}_region"],
        written[f"{which}_offset"],
        written[f"{which}_shape"],
        written[f"{which}_elem_size"],
        strict=True,
    )
    return tuple(
        Border(int(region), int(offset), int(np.prod(np.array(shape, np.int64))) * int(size))
        for region, offset, shape, size in rows
    )


def _cycles(folder: Path) -> float:
    """Returns the cycles of the NPU that Vela's summary states; 0 if there is no summary."""
    for path in sorted(folder.glob("*summary*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                return float(row.get("cycles_total") or 0.0)
    return 0.0
