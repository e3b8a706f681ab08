"""The front end of this example. Training and device take their parameters from here.

    python front_end.py autoencoder.tflite build/front_end

writes its C beside the model, with the features in the quantisation of the model's input, and the numbers that main.c
needs of the model: numbers.h in the folder above.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from aboard.frontend import AudioFrontEnd, Decider, IntegerScale, write
from aboard.frontend.audio import LOG_SCALE
from aboard.importers import load

#: 64 ms every 32 ms; the model takes 8 frames.
FRONT_END = AudioFrontEnd(sample_rate=8000, window=512, hop=256, channels=20, low_hz=60, high_hz=3900)
FRAMES = 8

#: Squared errors of a run are divided by 2^ERROR_SHIFT for a score from -128 to 127; 3 runs are averaged.
#: The threshold was chosen with recordings of another seed than those of the test.
ERROR_SHIFT, AVERAGED = 5, 3
DECIDER = Decider(threshold=0, release=-16, needed=2, pause=3)


def for_model(path: str) -> AudioFrontEnd:
    """Returns the front end with features in the quantisation of a model's input."""
    scale, zero = _quantisation(path, output=False)
    return replace(FRONT_END, scale=IntegerScale(1 / LOG_SCALE, scale, zero_after=zero))


def restored(path: str) -> IntegerScale:
    """Returns what brings a model's output to the quantisation of its input, so that both can be compared."""
    (before, zero_before), (after, zero_after) = _quantisation(path, output=True), _quantisation(path, output=False)
    return IntegerScale(before, after, zero_before, zero_after)


def _quantisation(path: str, *, output: bool) -> tuple[float, int]:
    graph = load(path)
    quant = (graph.outputs if output else graph.inputs)[0].type.quant
    if quant is None:
        sys.exit(f"{path}: input or output is not quantised. Quantise the model")
    return float(quant.scales[0]), int(quant.zero_points[0])


def numbers(path: str) -> str:
    """Returns the header with the parameters of main.c."""
    values = {"ERROR_SHIFT": ERROR_SHIFT, "AVERAGED": AVERAGED}
    lines = [f"#define {name} {value}" for name, value in values.items()]
    for name, fields in (("RESTORED", restored(path).fields), ("DECISION", DECIDER.fields(1))):
        lines.append(f"#define {name} {{{', '.join(f'.{field} = {value}' for field, value in fields.items())}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    place = write(for_model(sys.argv[1]), sys.argv[2], "front_end")
    (Path(sys.argv[2]).parent / "numbers.h").write_text(numbers(sys.argv[1]), encoding="utf-8")
