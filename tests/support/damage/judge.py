"""Whether `aboard.compare` finds drawn faults, and none where there is none.

    python -m support.damage.judge --seed 7 --faults 50 --undamaged 10

prints what it misses and exits with 1 if it finds fewer than 48 of 50, or a fault in an undamaged pair.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import aboard
from aboard.check.compare import Comparison
from support.damage.inputs import pair_samples, samples
from support.damage.pool import damage, draw, pair, pairs, undamaged
from support.damage.records import CAUSES, Damaged, NoFaultError

#: Of 50 faults, as many have to be found with layer and cause.
SHARE = 48 / 50


def missed(seed: int, count: int) -> list[str]:
    """Returns a line for each drawn fault of which layer or cause is not found."""
    lines = []
    for number, (path, data, damaged) in enumerate(draw(seed, count)):
        given = samples(path, np.random.default_rng([seed, number]))
        found = compared(data, damaged.data, path.suffix, path.suffix, given)
        if not is_right(found, damaged):
            lines.append(
                f"{path.name}: {damaged.cause} in {damaged.layer} ({damaged.description}), found {_said(found)}"
            )
    return lines


def missed_beside_float(seed: int, count: int) -> list[str]:
    """Returns a line for each drawn fault of an int8 model that is not found by a comparison with the float model."""
    lines, known = (
        [],
        [(relation, *names) for relation in ("quantised", "quantised here") for names in pairs()[relation]],
    )
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        cause = str(rng.choice(CAUSES))
        for place in rng.permutation(len(known)):
            files = pair(*known[place])
            try:
                damaged = damage(Path(files.second_name + suffix(files.second)), files.second, rng, cause)
            except NoFaultError:
                continue
            given = pair_samples(files, rng)[0]
            found = compared(files.first, damaged.data, suffix(files.first), suffix(files.second), given)
            if not is_right(found, damaged):
                lines.append(f"{files.second_name}: {damaged.cause} ({damaged.description}), found {_said(found)}")
            break
    return lines


def alarms(seed: int, count: int) -> list[str]:
    """Returns a line for each drawn pair without a fault in which one is found."""
    lines = []
    for number, files in enumerate(undamaged(seed, count)):
        given = pair_samples(files, np.random.default_rng([seed, number]))[0]
        found = compared(files.first, files.second, suffix(files.first), suffix(files.second), given)
        if found.defect is not None:
            lines.append(f"{files.first_name} and {files.second_name} ({files.relation}): found {_said(found)}")
    return lines


def is_right(found: Comparison, damaged: Damaged) -> bool:
    """True if a comparison names the damaged layer and the cause."""
    if found.defect is None or found.defect.explanation.cause.value != damaged.cause:
        return False
    layer = found.defect.layer
    names = {damaged.tensor, *damaged.carriers}
    return damaged.layer in (layer.operator, layer.operator_b) or bool({layer.a, layer.b} & names)


def compared(a: bytes, b: bytes, suffix_a: str, suffix_b: str, given: dict[str, np.ndarray]) -> Comparison:
    """Returns the comparison of two files."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / f"a{suffix_a}", Path(folder) / f"b{suffix_b}"
        for file, data in zip(files, (a, b), strict=True):
            file.write_bytes(data)
        return aboard.compare(*files, given)


def suffix(data: bytes) -> str:
    """Returns the ending of a model file's name."""
    return ".tflite" if data[4:8] == b"TFL3" else ".onnx"


def _said(found: Comparison) -> str:
    if found.defect is None:
        return found.state.value
    return (
        f"{found.defect.explanation.cause.value} in {found.defect.layer.operator_b} ({found.defect.explanation.detail})"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--undamaged", type=int, default=10)
    given = parser.parse_args(arguments)
    lines, wrong = missed(given.seed, given.faults), alarms(given.seed, given.undamaged)
    print(*lines, *wrong, sep="\n")
    print(f"seed {given.seed}: found {given.faults - len(lines)} of {given.faults}, {len(wrong)} false alarms")
    return int(bool(wrong) or given.faults - len(lines) < SHARE * given.faults)


if __name__ == "__main__":
    raise SystemExit(main())
