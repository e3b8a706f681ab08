"""Real models on the NPU of an emulated board, compared with the reference: a table of docs/how-to/ethos_u.md.

`verify_models.py` runs `aboard verify` in QEMU for each model, number of MACs and memory mode, on 20 inputs and the
extremes, and writes a line of docs/npu.json for each. Lines that are there are kept: delete the file to begin again.
`verify_models.py --page` writes the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from bench import markdown  # noqa: E402  found through the line above
from support import models  # noqa: E402  likewise

RECORD = ROOT / "docs" / "npu.json"
PAGE = ROOT / "docs" / "how-to" / "ethos_u.md"
BEGIN, END = "<!-- models: written by make npu-models -->", "<!-- end of models -->"
BOARD = "arm/mps3_an547"
MACS = (128, 32, 256, 64)
MEMORY = ("sram_only", "shared_sram")
#: Models by name, with attributes of the target.
MODELS = {
    "digits": "",
    "hello_world": "",
    "kws": "",
    "ic": "",
    "vww": "",
    "ad": "",
    "sww": "",
    "person": "",
    "keras_mnist": "",
    "wake_jarvis": "",
    "mcunet_vww": "-io=int8",
}
SAMPLES = 20

Row = dict[str, Any]


def aboard(*words: str) -> tuple[int, Row]:
    """Runs a command; returns its exit code and the object that it prints."""
    command = [sys.executable, "-m", "aboard", *words, "--json", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "host")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found: Row = json.loads(done.stdout)
    return done.returncode, found


def measured(name: str, macs: int, memory: str, samples: int = SAMPLES) -> Row:
    """Returns the line of a model: how much of it the NPU computes, and the bytes that differ."""
    target = f"{BOARD} {MODELS[name]} + ethos-u55 -macs={macs} -memory={memory}"
    words = [str(models.path(name)), "--target", target]
    _, placed = aboard("partition", *words)
    devices = [node["device"] for node in placed["nodes"]]
    regions = {node["region"] for node in placed["nodes"] if node["region"] is not None}
    code, found = aboard("verify", *words, "-O", "npu=model", "--runner", "qemu", "--samples", str(samples))
    row = {"model": name, "macs": macs, "memory": memory, "nodes": len(devices)}
    row |= {"on_npu": devices.count("ethos-u55"), "regions": len(regions), "exit": code}
    keys = ("samples", "reference", "differing_bytes", "region_faults", "error")
    return row | {key: found[key] for key in keys if key in found}


def missing(rows: Sequence[Row]) -> Iterator[tuple[str, int, str]]:
    """Yields what has no line yet: all models, then the next number of MACs or mode."""
    known = {(row["model"], row["macs"], row["memory"]) for row in rows}
    for macs in MACS:
        for memory in MEMORY:
            for name in MODELS:
                if (name, macs, memory) not in known:
                    yield name, macs, memory


def table(rows: Sequence[Row]) -> str:
    """Returns a line for each model; its figures are the same for all MACs and modes, or the largest."""
    lines = []
    for name in MODELS:
        mine = [row for row in rows if row["model"] == name]
        if mine:
            right = sum(row["exit"] == 0 and row["differing_bytes"] == 0 for row in mine)
            nodes = f"{max(row['on_npu'] for row in mine)} of {mine[0]['nodes']}"
            regions = str(max(row["regions"] for row in mine))
            samples = str(min(row.get("samples", 0) for row in mine))
            differing = str(sum(row.get("differing_bytes", 0) for row in mine))
            lines.append([f"`{name}`", nodes, regions, samples, f"{right} of {len(mine)}", differing])
    head = ["model", "nodes on the NPU", "regions", "inputs", "configurations exact", "differing bytes"]
    return markdown.table(head, lines)


def write_page(rows: Sequence[Row]) -> None:
    """Writes the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(markdown.with_section(page, BEGIN, END, table(rows)), encoding="utf-8")


def main(words: Sequence[str]) -> int:
    rows: list[Row] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    for name, macs, memory in [] if "--page" in words else list(missing(rows)):
        rows.append(measured(name, macs, memory))
        print(json.dumps(rows[-1]), flush=True)
        RECORD.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    write_page(rows)
    return int(any(row["exit"] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
