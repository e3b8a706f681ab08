"""docs/reference/published_models.md, written from docs/published.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "published.json"
PAGE = ROOT / "docs" / "reference" / "published_models.md"

_HEAD = """# Published models

Models of public repositories, each imported, compiled and run on this machine, and compared with an interpreter. The
page is written by `make published CHECKOUTS="FOLDER ..."`, which takes git checkouts, finds `.tflite` files of at
most 3 MB and arrays in C sources that are such files, and records the commit that each model is read from in
`docs/published.json`. Of a repository with many models, {most} are drawn, spread evenly over its folders, and all for
which it publishes results.

A model gets {steps} random inputs, one after another, so that its state counts. Where its outputs stay the same, the
last tensor that varies is compared too. The reference is `tflite-micro`: integers must be equal in every bit, and
floats may differ by {tolerance} of the largest value of the output. A model that `tflite-micro` refuses is compared
with LiteRT's reference kernels, from which integers may differ by a step.

Last run: {date}.
"""

_HYBRID = """LiteRT rounds the activations of float layers with int8 weights to int8 while it runs, and `tflite-micro`
refuses such layers. aboard computes them in float, so it differs from LiteRT there."""

#: Rows of the first table: what a record must be, and how it is called.
_OUTCOMES = (
    ("equal", "tflite-micro", "equal to `tflite-micro`"),
    ("equal", "litert", "`tflite-micro` is not usable, equal to LiteRT"),
    ("differs", "tflite-micro", "differs from `tflite-micro`"),
    ("differs", "litert", "`tflite-micro` is not usable, differs from LiteRT"),
    ("refused", "tflite-micro", "refused, and `tflite-micro` runs it"),
    ("refused", "", "refused, and `tflite-micro` does not run it either"),
    ("unknown", "", "compiled and run, but no interpreter runs it"),
    ("failed", "", "ended without a result"),
)


def text(record: Mapping[str, Any]) -> str:
    """Returns the page of a record."""
    models = record["models"]
    head = _HEAD.format(
        most=record["most"], steps=record["steps"], tolerance=f"{record['tolerance']:g}", date=record["date"]
    )
    parts = [head, _counts(models), _goldens(models), _repositories(models), _others(models)]
    return "\n".join(part for part in parts if part)


def _counts(models: Sequence[Mapping[str, str]]) -> str:
    counts = Counter((model["outcome"], model["reference"]) for model in models)
    rows = [f"| {words} | {counts[outcome, name]} |" for outcome, name, words in _OUTCOMES if counts[outcome, name]]
    publishers = len({model["repository"].split("/")[0] for model in models})
    found = f"{len(models)} models of {publishers} publishers:"
    return "\n".join(["## Counts", "", found, "", "| result | models |", "|---|---:|", *rows, ""])


def _goldens(models: Sequence[Mapping[str, str]]) -> str:
    given = Counter(model["golden"] for model in models if model["golden"])
    if not given:
        return ""
    words = f"For {sum(given.values())} of these models the repository publishes results: {given['equal']} are equal"
    same = given["reference differs too"]
    words += f", {same} are not, and those of `tflite-micro` are not either" if same else ""
    words += f", {given['differs']} are not" if given["differs"] else ""
    return words + ".\n"


def _repositories(models: Sequence[Mapping[str, str]]) -> str:
    lines = ["## Repositories", "", "| repository | commit | models | equal |", "|---|---|---:|---:|"]
    for name in sorted({model["repository"] for model in models}, key=str.lower):
        several = [model for model in models if model["repository"] == name]
        equal = sum(model["outcome"] == "equal" for model in several)
        lines.append(f"| {name} | `{several[0]['commit'][:10]}` | {len(several)} | {equal} |")
    return "\n".join([*lines, ""])


def _others(models: Sequence[Mapping[str, str]]) -> str:
    others = [model for model in models if model["outcome"] != "equal"]
    if not others:
        return ""
    names = {(outcome, reference): words for outcome, reference, words in _OUTCOMES}
    lines = ["## Models that are not equal", "", _HYBRID, "", "| model | result | reason |", "|---|---|---|"]
    for model in sorted(others, key=lambda model: (model["outcome"], model["repository"], model["path"])):
        why = model["why"].replace("|", "\\|").replace("<", "&lt;")
        result = names.get((model["outcome"], model["reference"]), model["outcome"])
        lines.append(f"| {model['repository']}: `{model['path']}` | {result} | {why} |")
    return "\n".join([*lines, ""])


def write(record: Mapping[str, Any]) -> None:
    """Writes the page."""
    PAGE.write_text(text(record), encoding="utf-8")
