"""The front end of this example. Training and device take their parameters from here.

    python front_end.py gestures.tflite build/front_end

writes the C of the front end, and the numbers that main.c needs: numbers.h in the folder above.
"""

from __future__ import annotations

import sys
from pathlib import Path

import motion
from aboard.frontend import Decider, IntegerScale, write_headers
from aboard.importers import load

#: The model sees 1.28 s, and runs every 0.16 s.
FRAME, HOP, AXES = 64, 8, 3
#: Real number of a step of the accelerometer: the model's input is in g.
STEP = 1 / motion.STEPS
CLASSES = ("background", *motion.GESTURES)

#: Scores of three runs are averaged. The settings were chosen with recordings of another seed than those of the test.
AVERAGED = 3
DECIDER = Decider(threshold=40, release=0, needed=2, pause=10, background=0)


def scale(path: str) -> IntegerScale:
    """Returns what brings samples to the quantisation of a model's input."""
    quant = load(path).inputs[0].type.quant
    if quant is None:
        sys.exit(f"{path}: the input is not quantised. Quantise the model")
    return IntegerScale(STEP, float(quant.scales[0]), zero_after=int(quant.zero_points[0]))


def numbers(path: str) -> str:
    """Returns the header with the parameters of main.c."""
    lines = [f"#define AVERAGED {AVERAGED}"]
    for name, fields in (
        ("FRAMES", {"size": FRAME * AXES, "hop": HOP * AXES}),
        ("SCALE", scale(path).fields),
        ("DECISION", DECIDER.fields(len(CLASSES))),
    ):
        lines.append(f"#define {name} {{{', '.join(f'.{field} = {value}' for field, value in fields.items())}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_headers(sys.argv[2])
    (Path(sys.argv[2]).parent / "numbers.h").write_text(numbers(sys.argv[1]), encoding="utf-8")
