"""The file of trials beside the file of records: what was measured of each image, so that a search can go on.

The key of a line is the whole code of the image with the bench, the compiler and the inputs. So a search that was
interrupted, or repeated with more points, builds and runs only what is new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base.measured_cost import MeasuredCost, Unit
from aboard.base.version import VERSION
from aboard.compiler.pipeline import Module
from aboard.device.input_files import Named
from aboard.device.measure import Measurement
from aboard.errors import InputError

_Cost = tuple[int, Unit, int]


class _TrialLine(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str
    nodes: tuple[_Cost, ...]
    run: _Cost
    tick_hz: int | None = None
    is_real: bool = False


class Trials:
    """Measurements of images that gave exact results, by the key of the image.

    Attributes:
        path: The file; None to keep nothing.
    """

    def __init__(self, path: Path | None) -> None:
        """Reads the file; a missing file is empty, and a line that was not written to its end is left out."""
        self.path = path
        self._known: dict[str, Measurement] = {}
        if path is not None and path.exists():
            for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
                self._read(text)

    def _read(self, text: str) -> None:
        try:
            line = _TrialLine.model_validate_json(text)
        except ValidationError:
            return
        nodes = tuple(MeasuredCost(*cost) for cost in line.nodes)
        self._known[line.key] = Measurement(nodes, MeasuredCost(*line.run), line.tick_hz, line.is_real)

    def find(self, key: str) -> Measurement | None:
        """Returns what was measured of an image before; None if nothing was."""
        return self._known.get(key)

    def add(self, key: str, measured: Measurement) -> None:
        """Adds what was measured of an image.

        Raises:
            InputError: The file cannot be written.
        """
        self._known[key] = measured
        if self.path is None:
            return
        line = _TrialLine(
            key=key,
            nodes=tuple(map(_cost, measured.nodes)),
            run=_cost(measured.run),
            tick_hz=measured.tick_hz,
            is_real=measured.is_real,
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line.model_dump_json() + "\n")
        except OSError as error:
            raise InputError(
                f"{self.path}: trials cannot be written, got {error.strerror}, expected a file that can be. Name "
                "another file of records with --tuning"
            ) from error


def _cost(cost: MeasuredCost) -> _Cost:
    return cost.count, cost.unit, cost.spread


def beside(records: Path) -> Path:
    """Returns the file of trials of a file of records."""
    return records.with_name(records.name + ".trials")


def key_of(module: Module, conditions: Sequence[str], inputs: Iterable[Named]) -> str:
    """Returns the key of an image.

    Args:
        module: The module in the image.
        conditions: The bench, the toolchain, and what else decides what is measured.
        inputs: The inputs that it runs.
    """
    found = hashlib.sha256(json.dumps([VERSION, *conditions, *module.manifest.cflags]).encode())
    for name, text in sorted(module.files.items()):
        found.update(f"{name}\0{text}\0".encode())
    for feed in inputs:
        for name, values in feed.items():
            found.update(name.encode() + values.tobytes())
    return found.hexdigest()
