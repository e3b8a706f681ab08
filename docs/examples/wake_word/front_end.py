"""The front end of this example. Training and device take their parameters from here.

    python front_end.py encoder.tflite scorer.tflite build/front_end

writes its C, with the features in the quantisation of the encoder's input, and the numbers that main.c needs: numbers.h
in the folder above.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from aboard.frontend import AudioFrontEnd, Decider, IntegerScale, write
from aboard.frontend.audio import LOG_SCALE
from aboard.importers import load

#: 30 ms every 20 ms.
FRONT_END = AudioFrontEnd(sample_rate=8000, window=240, hop=160, channels=20, low_hz=80, high_hz=3800)
#: The encoder sees 11 frames and runs after every fourth; the scorer sees its last 13 results: 59 frames, 1.2 s.
FRAMES, FRAMES_PER_RUN, ENCODED = 11, 4, 13
CLASSES = ("background", "wake word")

#: Scores of three runs are averaged. No setting was tuned with the clips of the test.
AVERAGED = 3
DECIDER = Decider(threshold=60, release=0, needed=1, pause=8, background=0)


def _quantisation(path: str, *, output: bool) -> tuple[float, int]:
    graph = load(path)
    quant = (graph.outputs if output else graph.inputs)[0].type.quant
    if quant is None:
        sys.exit(f"{path}: input or output is not quantised. Quantise the model")
    return float(quant.scales[0]), int(quant.zero_points[0])


def for_model(path: str) -> AudioFrontEnd:
    """Returns the front end with features in the quantisation of a model's input."""
    scale, zero = _quantisation(path, output=False)
    return replace(FRONT_END, scale=IntegerScale(1 / LOG_SCALE, scale, zero_after=zero))


def link(encoder: str, scorer: str) -> IntegerScale:
    """Returns what brings the encoder's output to the quantisation of the scorer's input."""
    (before, zero_before), (after, zero_after) = (
        _quantisation(encoder, output=True),
        _quantisation(scorer, output=False),
    )
    return IntegerScale(before, after, zero_before, zero_after)


def numbers(encoder: str, scorer: str) -> str:
    """Returns the header with the parameters of main.c."""
    lines = [f"#define FRAMES_PER_RUN {FRAMES_PER_RUN}", f"#define AVERAGED {AVERAGED}"]
    for name, fields in (("LINK", link(encoder, scorer).fields), ("DECISION", DECIDER.fields(len(CLASSES)))):
        lines.append(f"#define {name} {{{', '.join(f'.{field} = {value}' for field, value in fields.items())}}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write(for_model(sys.argv[1]), sys.argv[3], "front_end")
    (Path(sys.argv[3]).parent / "numbers.h").write_text(numbers(sys.argv[1], sys.argv[2]), encoding="utf-8")
