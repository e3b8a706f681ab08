"""Quantises models of real numbers.

| file | what it does |
|---|---|
| `quantizer` | from a model file to a quantised one |
| `samples` | reads samples and labels |
| `prepare` | the graph that is quantised: normalisations are part of layers |
| `scaling` | inputs that 8 bits cannot hold are scaled in real numbers |
| `groups`, `plan` | which tensors share a quantisation; the decisions |
| `calibration` | makes the decisions, step by step |
| `equalisation`, `ranges`, `weights` | the steps: channels, ranges of tensors, scales of weights |
| `refinement` | the last step: rounding of weights, biases |
| `simulation` | runs a plan in real numbers |
| `insertion`, `types` | makes the integer graph of a plan; which nodes have a form in integers |
| `sensitivity`, `layers`, `accuracy`, `costs` | what integers cost |
| `budget` | which layers keep more bits |
"""

from __future__ import annotations

from aboard.quantization.budget import Limits
from aboard.quantization.layers import LayerFigures
from aboard.quantization.quantizer import Quantized, quantize

__all__ = ["LayerFigures", "Limits", "Quantized", "quantize"]
