"""The front end of this example. Training and device take their parameters from here.

    python front_end.py person.tflite build/front_end

writes the C of the front end, and the numbers that main.c needs: numbers.h in the folder above.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pictures
from aboard.frontend import Decider, IntegerScale, PictureFit, write_headers
from aboard.importers import load

#: The model sees 96x96 pixels of the middle of the camera's picture.
FIT = PictureFit(
    left=pictures.SEEN[0],
    top=0,
    width=pictures.SEEN[1] - pictures.SEEN[0],
    height=pictures.HEIGHT,
    out_width=96,
    out_height=96,
)
#: Real number of a step of a pixel.
STEP = 1 / 255
CLASSES = ("background", "person")

#: Scores of two pictures are averaged. The settings were chosen with scenes of another seed than those of the test.
AVERAGED = 2
DECIDER = Decider(threshold=0, release=0, needed=1, background=0)


def scale(path: str) -> IntegerScale:
    """Returns what brings pixels to the quantisation of a model's input."""
    quant = load(path).inputs[0].type.quant
    if quant is None:
        sys.exit(f"{path}: the input is not quantised. Quantise the model")
    return IntegerScale(STEP, float(quant.scales[0]), zero_after=int(quant.zero_points[0]))


def numbers(path: str) -> str:
    """Returns the header with the parameters of main.c."""
    fit = {"channels": 1, "row_bytes": pictures.WIDTH} | {
        name: getattr(FIT, name) for name in ("left", "top", "width", "height", "out_width", "out_height")
    }
    lines = [f"#define AVERAGED {AVERAGED}"]
    for name, fields in (("FIT", fit), ("SCALE", scale(path).fields), ("DECISION", DECIDER.fields(len(CLASSES)))):
        lines.append(f"#define {name} {{{', '.join(f'.{field} = {value}' for field, value in fields.items())}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_headers(sys.argv[2])
    (Path(sys.argv[2]).parent / "numbers.h").write_text(numbers(sys.argv[1]), encoding="utf-8")
