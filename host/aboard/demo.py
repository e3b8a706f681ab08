"""The program of `make demo`: compiles, builds and runs the shipped model, and prints each step.

`python -m aboard.demo [BOARD]`
"""

from __future__ import annotations

import sys
import time

import numpy as np

import aboard
from aboard import boards, runners
from aboard.api import Session
from aboard.base import resources
from aboard.base.scratch import Scratch
from aboard.base.table import amount, facts, table
from aboard.check import evaluate
from aboard.reports.compiled import memory_map, totals

MODEL = "digits"
SAMPLES = 20


def main(board_name: str = "arm/mps2_an386") -> int:
    """Runs the shipped model on an emulated board and prints its predictions.

    Args:
        board_name: Board id or alias.

    Returns:
        The exit code: 0.

    Raises:
        AboardError: A tool is missing, or the model does not fit the board.
    """
    start = time.monotonic()
    board = boards.load(board_name)
    runner = runners.choose(board)
    _say(f"Compile {MODEL}.tflite, a small CNN for hand-written digits, for {board.name}")
    module = aboard.compile(resources.models() / f"{MODEL}.tflite", board=board.id)
    print(totals(module.manifest), memory_map(module.manifest), sep="\n\n")

    with Scratch() as temporary:
        _say("Create a project, build it")
        project = aboard.create(module, board=board, path=temporary / MODEL)
        built = project.build()
        sizes = built.sizes
        print(
            facts(
                [
                    ("toolchain", f"{built.toolchain.name} {built.toolchain.version}"),
                    ("flash", f"{amount(sizes.image_flash_bytes)}, the model {sizes.model_flash_bytes:,} of them"),
                    ("RAM", f"{amount(sizes.image_ram_bytes)}, the model {module.manifest.ram_bytes:,} of them"),
                ]
            )
        )

        _say(f"Boot it ({runner.name}) and run real samples over the serial line")
        samples = evaluate.load(resources.models() / f"{MODEL}_test.npz", module.manifest, SAMPLES)
        with Session.open(project, runner) as device:
            found = evaluate.evaluate(device, samples)
            profile = device.profile(samples.x[0])
    predictions = [int(np.argmax(next(iter(run.outputs.values())))) for run in found.runs]
    print(table(("label", *map(str, samples.y)), [("predicted", *map(str, predictions))]))
    print(f"\n{profile.table()}\n")
    print(
        facts(
            [
                ("right", f"{round(found.accuracy * len(samples))} of {len(samples)}"),
                ("instructions", found.instructions),
                ("stack", amount(found.stack_bytes)),
            ]
        )
    )
    print(
        f"\nDone in {time.monotonic() - start:.0f} s. Next: .venv/bin/aboard --help, and docs/tutorials/quickstart.md"
    )
    return 0


def _say(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except aboard.AboardError as error:
        sys.exit(f"error: {error}")
