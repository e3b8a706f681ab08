"""A wake word from samples to score: every tensor that both models compute equals tflite-micro's, at every step.

Windows over time, slices of them and reshapes only rearrange bytes that were compared, and may have no memory of their
own in the C: every other operator has to be compared. The exception are elements of the energy that no run
computes: the reference leaves there what the memory held. ABOARD_FULL=1 takes 10,000 windows.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import aboard
from aboard.check import verify
from aboard.check.host_trace import TracedHostModel
from aboard.device import tensor_layout
from aboard.importers import load
from aboard.ops.signal_window import EnergyAttributes
from support import models, sequences, wake_word
from support.sequences import FRONT_END, HOP, WAKE_WORD, WINDOW

STEPS = 10_000 if os.environ.get("ABOARD_FULL") else 300
#: Operators whose results are copies of other tensors' bytes.
REARRANGE = {"concatenation", "reshape", "strided_slice"}

pytestmark = pytest.mark.skipif(
    len(models.available([FRONT_END, WAKE_WORD])) < 2, reason="the models are not here: set ABOARD_MODELS"
)


def traced(name: str) -> TracedHostModel:
    return TracedHostModel(aboard.compile(models.read(name), target="c -runtime=host", name=name))


def undefined(name: str) -> dict[int | None, list[slice]]:
    """Returns the elements that the reference leaves as they were in memory, by the tensor's index in the file."""
    found: dict[int | None, list[slice]] = {}
    for node in load(models.read(name)).nodes:
        if isinstance(node.attrs, EnergyAttributes):
            found[node.output.source] = [slice(node.attrs.start), slice(node.attrs.end, None)]
        elif node.op == "cast" and (source := node.input(0).source) in found:
            found[node.output.source] = found[source]
    return found


def compared(model: TracedHostModel, run: wake_word.Run, ignored: dict[int | None, list[slice]]) -> set[int]:
    """Compares every tensor that the nodes of a model compute with the reference's; returns which they are."""
    found = set()
    for index, tensors in model.trace(run.given).items():
        for operand in model.manifest.nodes[index].outputs:
            if operand.source in run.tensors:
                wanted = run.tensors[operand.source].reshape(tensor_layout.reference_shape(operand))
                got = tensors[operand.tensor]
                assert not np.ma.is_masked(got), operand.tensor
                wrong = verify.differs(np.ma.getdata(got), wanted)
                for part in ignored.get(operand.source, []):
                    wrong.reshape(-1)[part] = False
                assert not wrong.any(), (run.model, operand.tensor)
                found.add(operand.source)
    return found


def test_every_tensor_of_every_step() -> None:
    compiled = {name: (traced(name), undefined(name)) for name in (FRONT_END, WAKE_WORD)}
    seen: dict[str, set[int]] = {}
    outputs: dict[str, set[int]] = {}
    count = 0
    for run in wake_word.runs(sequences.sound(WINDOW + HOP * (STEPS - 1))):
        seen.setdefault(run.model, set()).update(compared(compiled[run.model][0], run, compiled[run.model][1]))
        outputs.setdefault(run.model, set()).update(hash(tensor.tobytes()) for tensor in run.tensors.values())
        count += 1
    assert count == STEPS + STEPS // sequences.FRAMES
    for name in compiled:
        nodes = load(models.read(name)).nodes
        computed = {tensor.source for node in nodes if node.op not in REARRANGE for tensor in node.outputs}
        assert computed <= seen[name]
        assert len(outputs[name]) > STEPS, "constant tensors prove nothing"
