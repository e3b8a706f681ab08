"""The C driver: the same files for both versions."""

from __future__ import annotations

from pathlib import Path

from aboard.target import Runtime, Target

_FOLDER = Path(__file__).parent / "driver"


def runtime(target: Target) -> Runtime:
    """Returns the driver."""
    del target
    return Runtime({path.name: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.[ch]"))})
