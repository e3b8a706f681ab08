"""Measures how compile time grows with the layers of a model; writes the table of the page on performance.

python tests/bench/depth.py             chains of 25 to 500 layers and MobileNetV2 1.0; writes the table
python tests/bench/depth.py 25 50       chains of so many layers; only prints

A chain has convolutions, depthwise convolutions and additions in four stages (`support.chain_models`). Seconds are
those of the processor, of one core, for the whole command, with the start of Python.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN, END = "<!-- depth: written by tests/bench/depth.py -->", "<!-- /depth -->"
sys.path[:0] = [str(ROOT / "host"), str(ROOT / "tests")]

from bench import markdown, measure  # noqa: E402  found through the line above
from support import chain_models  # noqa: E402  likewise

LAYERS = (25, 50, 100, 200, 500)
_MEGABYTE = 1_000_000


def row(name: str, model: bytes) -> list[str]:
    """Returns a row of the table: the model, seconds and megabytes."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(model)
        found = measure.compilation_of(path)
    cells = [name, f"{found['seconds']:.1f}", str(math.ceil(found["peak_bytes"] / _MEGABYTE))]
    print(" | ".join(cells), flush=True)
    return cells


def main(words: Sequence[str]) -> None:
    """Measures, and writes the table if no numbers of layers are given."""
    rows = [row(f"chain of {count} layers", chain_models.chain(count)) for count in map(int, words or LAYERS)]
    if words:
        return
    rows.append(row("MobileNetV2 1.0, 224x224", chain_models.mobilenet_v2()))
    text = markdown.table(("model", "CPU seconds", "peak memory, MB"), rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(markdown.with_section(page, BEGIN, END, text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
