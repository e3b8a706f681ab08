"""Models with a known fault: what a comparison of two models is judged by.

A fault is in exactly one layer of a real model and has one of five causes. It changes the output of that layer on
plausible samples by at least 5 % of the output's root mean square, as the oracle computes it, which is LiteRT with its
reference kernels for TFLite and onnxruntime without optimisations for ONNX.

| file | what it does |
|---|---|
| `records` | a damaged model, a pair of undamaged ones, the causes |
| `choice` | draws until a fault shows |
| `weights` | faults in arrays of weights |
| `tflite_file`, `tflite_faults`, `tflite_layers` | TFLite: the file and its oracle, numbers and weights, other faults |
| `onnx_file`, `onnx_faults`, `onnx_layers` | the same for ONNX |
| `inputs` | samples |
| `pool` | draws from all models |
"""

from __future__ import annotations

from support.damage.inputs import pair_samples, samples
from support.damage.onnx_layers import damage as onnx
from support.damage.pool import draw, originals, undamaged
from support.damage.records import CAUSES, Damaged, NoFaultError, Pair
from support.damage.tflite_layers import damage as tflite

__all__ = [
    "CAUSES",
    "Damaged",
    "NoFaultError",
    "Pair",
    "draw",
    "onnx",
    "originals",
    "pair_samples",
    "samples",
    "tflite",
    "undamaged",
]
