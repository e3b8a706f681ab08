"""The page about single layers; measures nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.layer_limits import OF_FOURS, OF_LARGER, OF_PORTABLE
from bench.markdown import number, table
from support.single_layers import SingleLayer

Record = Mapping[str, Any]

#: What CMSIS-NN is compared in: cycles where the manual of the core lists them, else instructions.
UNITS = {"m3": "cycles", "m4": "cycles", "m55": "instructions"}

_TEXT = """# Single layers

Layers of ordinary and of odd shapes, int8, each with an input and an output of its own, beside CMSIS-NN; and drawn
layers beside portable C. `make bench-layers` measures them and writes this page: many layers make one image, which
runs in QEMU with the default options (`-opt=balanced`). Instructions are exact, those of the layer alone. Cycles are
estimates, by the core's manual without wait states; Cortex-M55 has no such table, so that its instructions are
compared.

"""

_DRAWN = """
## Drawn layers

Windows of 1 to 9, strides of 1 to 4, dilations, groups, depth multipliers, batches, any number of channels up to 70,
any zero points, and sums that 23 bits do not hold. *Above portable C*: layers whose chosen kernel costs more than
{portable} times portable C. *Above fours*: layers whose multiply-accumulate costs more than {fours} times that of the
nearest layer with channels in multiples of four, unless that layer is larger and the drawn one costs at most {larger}
times as much in all; both with `-opt=speed`, because otherwise the kernel of each depends on what flash may cost. A
layer that is above either limit is counted again in an image of its own, where it takes no slower kernel because ten
others use its code.

"""


def ratios(core: str, record: Record, layers: Sequence[Record], unit: str) -> list[float]:
    """Returns each listed layer's figure as a factor of CMSIS-NN's."""
    pairs = zip(record["layers"], layers, strict=True)
    return [float(ours[unit] / theirs["cmsis_nn"][core][unit]) for ours, theirs in pairs]


def mean(values: Sequence[float]) -> float:
    """Returns the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(core: str, record: Record, layers: Sequence[Record]) -> str:
    """Returns the figures of a core in a line."""
    parts = []
    for unit in ("instructions", "cycles"):
        found = ratios(core, record, layers, unit)
        parts.append(f"{unit} {mean(found):.3f} of CMSIS-NN, worst {max(found):.2f}")
    drawn = record["drawn"]
    limits = f"{drawn['above_portable']} above portable C, {drawn['above_fours']} above fours"
    return f"{core}: {'; '.join(parts)}; of {drawn['count']} drawn layers {limits}"


def page(record: Record, peers: Record) -> str:
    """Returns the page.

    Args:
        record: Records of `single_layers.measured` by core.
        peers: Content of `single_layers.json`.
    """
    layers = peers["layers"]
    parts = [_TEXT, _means(record, layers), "\n", _listed(record, layers)]
    parts += [_DRAWN.format(portable=OF_PORTABLE, fours=OF_FOURS, larger=OF_LARGER), _series(record), _worst(record)]
    source = "\n".join(f"- {key}: {value}" for key, value in peers["source"].items())
    return "".join(parts) + f"\nCMSIS-NN:\n\n{source}\n"


def _means(record: Record, layers: Sequence[Record]) -> str:
    rows = []
    for core, mine in record.items():
        cells = []
        for unit in ("instructions", "cycles"):
            found = ratios(core, mine, layers, unit)
            cells += [f"{mean(found):.3f}", f"{max(found):.2f}"]
        rows.append([core, *cells])
    head = ["core", "instructions, geometric mean", "worst", "cycles, geometric mean", "worst"]
    return table(head, rows)


def _listed(record: Record, layers: Sequence[Record]) -> str:
    head = ["layer", "MACs"]
    for core in record:
        head += [f"{core}, kernel", f"{UNITS[core]}", "CMSIS-NN", "ratio", f"{UNITS[core]} a MAC"]
    rows = []
    for index, theirs in enumerate(layers):
        layer = SingleLayer.read(theirs)
        cells = [layer.name, number(layer.macs)]
        for core, mine in record.items():
            ours, unit = mine["layers"][index], UNITS[core]
            anchor = theirs["cmsis_nn"][core][unit]
            cells += [f"`{ours['kernel']}`", number(ours[unit]), number(anchor), f"{ours[unit] / anchor:.2f}"]
            cells.append(f"{ours[unit] / layer.macs:.2f}")
        rows.append(cells)
    return table(head, rows)


def _series(record: Record) -> str:
    rows = [
        [core, str(drawn["count"]), str(drawn["seed"]), str(drawn["above_portable"]), str(drawn["above_fours"])]
        for core, drawn in ((core, mine["drawn"]) for core, mine in record.items())
    ]
    return table(["core", "layers", "seed", "above portable C", "above fours"], rows)


def _worst(record: Record) -> str:
    rows = []
    for ratio, words in (("of_portable", "portable C"), ("of_fours", "fours")):
        for core, mine in record.items():
            rows += [
                [core, words, each["layer"], f"`{each['kernel']}`", f"{each['ratio']:.2f}"]
                for each in mine["drawn"][ratio]
            ]
    return "\nThe worst of them:\n\n" + table(["core", "beside", "layer", "kernel", "factor"], rows, left=4)
