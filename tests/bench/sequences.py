"""Measures models with state over a sequence of runs, and a wake word from samples to score, beside what TFLM needs.

python tests/bench/sequences.py            measures, and writes docs/benchmarks.json and docs/reference/benchmarks.md
python tests/bench/sequences.py --check    measures, writes nothing, fails where a figure is worse than recorded

TFLM's figures, how they were measured, and the goals are in tests/bench/peers.json. The goal of a model is the largest
share of TFLM's figure that aboard may need. A record says of each figure whether its goal is `met`; `--check` fails
where a goal that was met is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from aboard.api import Project  # noqa: E402  likewise
from bench import histogram, measure, page, run, sequence_page  # noqa: E402  likewise
from support import models, sequences  # noqa: E402  likewise

CORE = "m4"

#: Runs of a model, and those at the start that are not counted: they may differ from all that follow.
STEPS, FIRST = 50, 2
#: Windows of a second of sound, and the second that is counted: the last of two.
WINDOWS, SECONDS = sequences.RATE // sequences.HOP, 2

Record = dict[str, Any]


def one(name: str) -> Record:
    """Returns the record of a model: mean instructions of a run, `ram_bytes` without state, and `state_bytes`."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        project = _built([name], Path(folder))
        (manifest,) = project.models
        (record,) = manifest.inputs
        feeds = sequences.inputs(name, record.shape, np.dtype(str(record.dtype)), STEPS)
        counts = _counted(project, [(name, feed) for feed in feeds])[FIRST:]
    state = manifest.state.bytes if manifest.state else 0
    found = {"instructions": round(sum(counts) / len(counts)), "ram_bytes": manifest.ram_bytes, "state_bytes": state}
    return found | {"met": met(name, found)}


def met(name: str, record: Mapping[str, Any]) -> dict[str, bool]:
    """Returns for `instructions` and `ram` whether a record is within the goal. RAM is compared without state."""
    others = sequence_page.peers()
    theirs, goal = others["models"][name], others["goals"][name]
    ram = record["ram_bytes"] / (theirs["arena_bytes"] - theirs["state_bytes"])
    return {
        "instructions": record["instructions"] / theirs["instructions"] <= goal["instructions"],
        "ram": ram <= goal["ram"],
    }


def wake_word() -> Record:
    """Returns what the front end and the wake word in one image need: instructions for a second of sound, and RAM.

    `ram_bytes` is the arena that both models share.
    """
    sound = sequences.sound(sequences.WINDOW + sequences.HOP * (WINDOWS * SECONDS - 1))
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        project = _built([sequences.FRONT_END, sequences.WAKE_WORD], Path(folder))
        counts = _counted(project, list(_fed(sound)))
        manifests = project.models
    last = len(counts) // SECONDS
    states = sum(manifest.state.bytes for manifest in manifests if manifest.state)
    ram = max(manifest.ram_bytes for manifest in manifests)
    return {"instructions_per_second": sum(counts[-last:]), "ram_bytes": ram, "state_bytes": states}


def _fed(sound: np.ndarray[tuple[int, ...], np.dtype[np.int16]]) -> Iterator[tuple[str, Any]]:
    """Yields the runs of both models for a sound; features come from the models' C on this machine."""
    module = aboard.compile(models.read(sequences.FRONT_END), target="c -runtime=host", name=sequences.FRONT_END)
    frames: list[Any] = []
    for window in sequences.windows(sound):
        yield sequences.FRONT_END, window
        frames.append(module.run(window))
        if len(frames) == sequences.FRAMES:
            yield sequences.WAKE_WORD, np.stack(frames).reshape(1, sequences.FRAMES, -1)
            frames.clear()


def _built(names: Sequence[str], folder: Path) -> Project:
    board = measure.BOARDS[CORE]
    modules = [aboard.compile(models.read(name), board=board, name=name) for name in names]
    project = aboard.create(modules, board=board, path=folder / "project")
    project.build()
    return project


def _counted(project: Project, feeds: Sequence[tuple[str, Any]]) -> list[int]:
    counts = histogram.run_sequence(project, feeds)
    if counts is None or len(counts) != len(feeds):
        raise RuntimeError(f"{project.image}: cannot be counted. Install QEMU with plugins and a C compiler")
    return counts


def measured() -> Record:
    """Returns `models` with a record for each that is available, and `wake_word`; empty without the models."""
    names = models.available(sequences.STATEFUL)
    if len(names) < len(sequences.STATEFUL):
        return {}
    return {"models": {name: one(name) for name in names}, "wake_word": wake_word()}


def worse(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """Returns what is worse than recorded: a figure by more than 1 %, or a goal that is missed and was met."""
    rows = [(name, now["models"][name], record) for name, record in then["models"].items()]
    rows.append(("wake word", now["wake_word"], then["wake_word"]))
    lines = []
    for name, record, before in rows:
        figures = [key for key, value in before.items() if isinstance(value, int)]
        lines += [
            f"{name}: {key} {record[key]:,}, recorded {before[key]:,}: {100 * (record[key] / before[key] - 1):+.1f} %"
            for key in figures
            if record[key] > before[key] * 1.01
        ]
        goals = [key for key, kept in before.get("met", {}).items() if kept and not record["met"][key]]
        lines += [f"{name}: the goal for {key} is missed, recorded as met" for key in goals]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes, or checks; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, write nothing")
    options = parser.parse_args(arguments)
    found, before = measured(), run.recorded()
    if not found:
        print("The models with state are not here: none is measured. Set ABOARD_MODELS to their folder")
        return 0
    if options.check:
        problems = worse(found, before["sequences"])
        print("\n".join(problems) if problems else f"{len(found['models']) + 1} sequences: no figure is worse.")
        return 1 if problems else 0
    content = {**before, "sequences": found}
    run.RECORD.write_text(run.compact(content) + "\n", encoding="utf-8")
    run.PAGE.write_text(page.render(content), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
