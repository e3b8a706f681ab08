"""The table of docs/reference/silicon.md: files of `aboard bench -o` from real boards, checked before they are shown.

`table.py [FOLDER]` reads docs/silicon/*.json and writes the page, or prints the reason for each file that it refuses.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import aboard  # noqa: E402  found through the lines above
from aboard import boards  # noqa: E402  likewise
from aboard.base import resources  # noqa: E402  likewise
from aboard.cli.schema_bench import BenchResult, ModelBench  # noqa: E402  likewise
from aboard.device import input_files  # noqa: E402  likewise
from aboard.errors import AboardError  # noqa: E402  likewise
from aboard.outputs.file import is_sealed  # noqa: E402  likewise
from bench import markdown  # noqa: E402  likewise
from support import models  # noqa: E402  likewise

FOLDER = ROOT / "docs" / "silicon"
PAGE = ROOT / "docs" / "reference" / "silicon.md"
BEGIN, END = "<!-- table: written by make silicon-table -->", "<!-- end of table -->"
NONE = "The table is empty: nobody has sent a measurement yet."
#: Fewer runs have no spread worth the name.
LEAST_REPEATS = 5


def read(path: Path) -> BenchResult | str:
    """Returns the figures of a file, or why it is refused."""
    content = path.read_bytes()
    if not is_sealed(content):
        return "was changed after `aboard bench` wrote it, or is not its file. Send the file as it was written"
    try:
        fields = json.loads(content)
        fields.pop("seal", None)
        found = BenchResult.model_validate(fields)
    except (ValueError, ValidationError) as error:
        return f"is not what `aboard bench -o` of this version writes, got: {str(error).splitlines()[0]}. Measure again"
    return next(problems(found), None) or found


def problems(found: BenchResult) -> Iterator[str]:
    """Yields what speaks against figures: no board, too few runs, other facts than the board's file, wrong outputs."""
    if not found.is_real or found.unit != "ticks":
        yield f"was not measured on a board, got {found.unit} of runner {found.runner}, expected ticks of a board"
        return
    if found.repeats < LEAST_REPEATS:
        yield f"has too few runs, got {found.repeats}, expected {LEAST_REPEATS} or more. Measure with --repeats 20"
    try:
        core = boards.load(found.board).core()
    except AboardError as error:
        yield f"is of a board that is not known, got: {error}"
        return
    if (found.clock_hz, found.wait_states) != (core.clock_hz, core.wait_states):
        yield (
            f"is of another clock than the board's file, got {found.clock_hz} Hz and {found.wait_states} wait states, "
            f"expected {core.clock_hz} Hz and {core.wait_states}. Measure with this version"
        )
    for model in found.models:
        yield from wrong_outputs(model, found.input)


def wrong_outputs(model: ModelBench, source: str) -> Iterator[str]:
    """Yields a model that is not at hand, and integer outputs that differ from the reference."""
    data = candidates().get(model.model_sha256)
    if data is None:
        yield (
            f"has a model whose file is not at hand, got {model.model} ({model.model_sha256[:8]}), expected a "
            "shipped one or one of ABOARD_MODELS"
        )
        return
    target = aboard.Target(model.target)
    options = " ".join(f"-{key}={target.get(key)}" for key in ("io", "arithmetic", "input-layout"))
    module = aboard.compile(data, target=f"c -runtime=host {options}")
    results = module.run(input_files.load(source, module.manifest.inputs))
    named = results if isinstance(results, dict) else {module.manifest.outputs[0].name: results}
    for name, values in named.items():
        wanted = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        # Floats may differ in their last bits, so that a hash says nothing of them.
        if np.issubdtype(values.dtype, np.integer) and model.outputs.get(name) != wanted:
            yield f"has wrong results, got other bytes of output {name} of {model.model} than the reference's"


def candidates() -> dict[str, bytes]:
    """Returns the model files at hand by their hash."""
    folders = [resources.models(), models.folder()]
    files = [path.read_bytes() for folder in folders if folder is not None for path in sorted(folder.glob("*.tflite"))]
    return {hashlib.sha256(data).hexdigest(): data for data in files}


def table(found: Sequence[BenchResult]) -> str:
    """Returns the table, or that there is nothing in it."""
    head = [
        "board",
        "model",
        "core",
        "clock, MHz",
        "wait states",
        "time, us",
        "spread, %",
        "RAM",
        "flash",
        "toolchain",
        "day",
    ]
    rows = [
        [
            f"`{each.board}`",
            f"`{model.model}`",
            each.core,
            "-" if each.clock_hz is None else f"{each.clock_hz / 1e6:g}",
            "-" if each.wait_states is None else str(each.wait_states),
            f"{1e6 * model.run.count / (each.tick_hz or 1):,.0f}",
            f"{100 * model.run.spread / max(model.run.count, 1):.2f}",
            markdown.number(model.ram_bytes),
            markdown.number(model.flash_bytes),
            each.toolchain,
            each.date,
        ]
        for each in sorted(found, key=lambda each: (each.board, each.date))
        for model in each.models
    ]
    return markdown.table(head, rows, left=3) if rows else f"{NONE}\n"


def write(page: Path, found: Sequence[BenchResult]) -> None:
    """Writes the table into a page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(markdown.with_section(text, BEGIN, END, table(found)), encoding="utf-8")


def main(words: Sequence[str]) -> int:
    folder = Path(words[0]) if words else FOLDER
    read_files = {path: read(path) for path in sorted(folder.glob("*.json"))}
    refused = {path: why for path, why in read_files.items() if isinstance(why, str)}
    for path, why in refused.items():
        print(f"{path}: {why}", file=sys.stderr)
    if not refused:
        write(PAGE, [found for found in read_files.values() if isinstance(found, BenchResult)])
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
