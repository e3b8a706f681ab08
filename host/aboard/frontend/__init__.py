"""The front end of a model: what stands between a sensor and the model, and between the scores and a decision.

Every function is here in numpy, for training, and in C (`firmware/frontend`), for the device. Both compute in integers
and give the same bits on every core.

| file | what it does |
|---|---|
| `frames` | cuts a stream into frames that overlap |
| `audio` | features of sound: logarithms of mel channels, cepstral coefficients |
| `audio_tables` | their tables: window, filter bank, gains, cosines |
| `scale` | brings integers to the quantisation of a model's input |
| `picture` | crops and resizes pictures |
| `decisions` | moving average of scores, debounced decisions |
| `sources` | writes the C of a front end, and the headers alone |
"""

from aboard.frontend.audio import AudioFrontEnd, GainControl, NoiseReduction
from aboard.frontend.decisions import Decider, averages
from aboard.frontend.frames import frames
from aboard.frontend.picture import PictureFit
from aboard.frontend.scale import IntegerScale
from aboard.frontend.sources import write, write_headers

__all__ = [
    "AudioFrontEnd",
    "Decider",
    "GainControl",
    "IntegerScale",
    "NoiseReduction",
    "PictureFit",
    "averages",
    "frames",
    "write",
    "write_headers",
]
