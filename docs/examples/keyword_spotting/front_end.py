"""The front end of this example. Training and device take their parameters from here.

    python front_end.py keywords.tflite build/front_end

writes its C beside the model, with the features in the quantisation of the model's input, and the numbers that main.c
needs: numbers.h in the folder above.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from aboard.frontend import AudioFrontEnd, Decider, IntegerScale, write
from aboard.frontend.audio import LOG_SCALE
from aboard.importers import load

#: 30 ms every 20 ms: 39 frames are 0.8 s.
FRONT_END = AudioFrontEnd(sample_rate=8000, window=240, hop=160, channels=20, low_hz=80, high_hz=3800)
FRAMES = 39
CLASSES = ("background", "left", "right", "stop", "go")

#: The model runs after every fourth frame; scores of three runs are averaged.
FRAMES_PER_RUN, AVERAGED = 4, 3
DECIDER = Decider(threshold=20, release=0, needed=1, pause=6, background=0)


def for_model(path: str) -> AudioFrontEnd:
    """Returns the front end with features in the quantisation of a model's input."""
    quant = load(path).inputs[0].type.quant
    if quant is None:
        sys.exit(f"{path}: the input is not quantised. Quantise the model")
    scale = IntegerScale(1 / LOG_SCALE, float(quant.scales[0]), zero_after=int(quant.zero_points[0]))
    return replace(FRONT_END, scale=scale)


def numbers() -> str:
    """Returns the header with the parameters of main.c."""
    fields = ", ".join(f".{field} = {value}" for field, value in DECIDER.fields(len(CLASSES)).items())
    values = {"FRAMES_PER_RUN": FRAMES_PER_RUN, "AVERAGED": AVERAGED, "DECISION": f"{{{fields}}}"}
    return "".join(f"#define {name} {value}\n" for name, value in values.items())


if __name__ == "__main__":
    write(for_model(sys.argv[1]), sys.argv[2], "front_end")
    (Path(sys.argv[2]).parent / "numbers.h").write_text(numbers(), encoding="utf-8")
