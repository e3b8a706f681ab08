"""The section of the benchmarks' page about models with state; measures nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.markdown import number, ratio, table

Record = Mapping[str, Any]

PEERS = Path(__file__).with_name("peers.json")

_TEXT = """## Models with state

Mean instructions of a run on m4, over steps 3 to 50 of a sequence with the same inputs on both sides, and RAM. aboard's
RAM is the arena; the state is a block beside it. TFLM's arena contains tensors, state and the structures of its
interpreter; the ratio leaves the state out of it. A ratio above its goal is marked *missed*.

"""
_WAKE_WORD = """
A wake word from samples to score: `audio_features` for each of 100 windows a second, and `wake_jarvis` for every third
of them, in one image. Instructions are those of the runs of both models in a second of sound. aboard's models share one
arena, and so do TFLM's interpreters.

"""


def peers() -> Record:
    """Returns TFLM's figures: `source`, `goals`, `models`, `by_core` (as in the anchors) and `wake_word`."""
    found: Record = json.loads(PEERS.read_text(encoding="utf-8"))
    return found


def section(sequences: Record, others: Record) -> str:
    """Returns the section.

    Args:
        sequences: What `bench.sequences` measured.
        others: What `peers` returns.
    """
    rows = []
    for name, ours in sequences["models"].items():
        theirs, goal = others["models"][name], others["goals"][name]
        rest = theirs["arena_bytes"] - theirs["state_bytes"]
        instructions = _judged(
            ours["instructions"], theirs["instructions"], goal["instructions"], ours["met"]["instructions"]
        )
        ram = _judged(ours["ram_bytes"], rest, goal["ram"], ours["met"]["ram"])
        figures = (
            ours["instructions"],
            theirs["instructions"],
            ours["ram_bytes"],
            ours["state_bytes"],
            theirs["arena_bytes"],
        )
        cells = [number(figure) for figure in figures]
        rows.append([name, *cells[:2], instructions, *cells[2:], ram])
    head = ["model", "aboard", "TFLM", "ratio", "RAM", "state", "TFLM arena", "ratio without state"]
    parts = [
        _TEXT,
        table(head, rows),
        _WAKE_WORD,
        _wake_word(sequences["wake_word"], others["wake_word"]),
        "\nTFLM:\n\n",
    ]
    return "".join(parts) + "\n".join(f"- {key}: {value}" for key, value in others["source"].items()) + "\n"


def _judged(ours: int, theirs: int, goal: float, met: bool) -> str:
    return f"{ratio(ours, theirs)}" + ("" if met else f" (*missed*: {goal})")


def _wake_word(ours: Record, theirs: Record) -> str:
    rows = [
        [system, number(record["instructions_per_second"]), number(record[ram]), number(record["state_bytes"])]
        for system, record, ram in (("aboard", ours, "ram_bytes"), ("TFLM", theirs, "arena_bytes"))
    ]
    return table(["system", "instructions a second", "arena", "state (TFLM: in its arena)"], rows)
