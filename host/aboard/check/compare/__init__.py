"""Compares two models, or two ways of running one, and names the first layer that is wrong.

| file | what it does |
|---|---|
| `both` | runs both sides and compares them |
| `sides` | runs a side: an interpreter, the compiled C, a board |
| `samples` | gives both sides the same inputs |
| `real_graph` | a model as the network of real numbers that its integers stand for |
| `real_numbers` | what stores real numbers, and operators of float32 |
| `recording` | a side after its runs |
| `alignment` | which value of one side is which of the other |
| `segments` | computes a part of A on the operands that B had |
| `judgement` | a layer beside A's |
| `comparer` | finds the first layer that is wrong |
| `definitions` | how two files define a layer |
| `causes`, `hypotheses`, `orders` | the likely cause of a wrong layer |
| `types` | what is found |
"""

from aboard.check.compare.both import compare
from aboard.check.compare.types import Cause, Comparison, Defect, Explanation, LayerDifference, OutputDifference, State

__all__ = ["Cause", "Comparison", "Defect", "Explanation", "LayerDifference", "OutputDifference", "State", "compare"]
