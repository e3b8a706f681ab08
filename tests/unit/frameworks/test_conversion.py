"""Conversion in a process of its own, with packages that stand in for PyTorch and TensorFlow."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aboard
from aboard import cli, frameworks
from aboard.check.reference import Reference
from aboard.errors import ExtraError, InputError, ModelError
from aboard.frameworks import conversion, extras, keras, pytorch, scikit_learn
from aboard.importers import load
from support.archives import archive
from support.markdown import CHECKOUT

DIGITS = CHECKOUT / "tests" / "data" / "onnx" / "digits.onnx"
TARGET = "c -mcpu=cortex-m4"

#: A package torch, whose programs are ONNX files with a header; it chatters, counts its imports, and can fail.
TORCH = """
import os, pathlib, sys
print("chatter on stdout"); print("chatter on stderr", file=sys.stderr)
with open(pathlib.Path(__file__).parent / "imports", "a") as file:
    file.write("x")
class export:
    @staticmethod
    def load(path):
        import zipfile
        with zipfile.ZipFile(path) as file:
            order = file.read("m/models/model.json").decode()
        if order == "refuse":
            raise ValueError("first line\\nsecond line")
        if order == "crash":
            os.abort()
        if order == "sleep":
            import time
            time.sleep(60)
        return order
class Exporter:
    @staticmethod
    def export(model, args, **kwargs):
        import onnx
        class Program:
            model_proto = onnx.load(os.environ["DIGITS"])
        Program.model_proto.graph.node[0].metadata_props.add(key="stack_trace", value="/home/me/net.py")
        return Program
onnx = Exporter
"""


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the package on the path of this process and its children; returns its folder."""
    folder = tmp_path / "packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(TORCH)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    monkeypatch.setenv("DIGITS", str(DIGITS))
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def program(path: Path, order: str = "convert") -> Path:
    return archive(path, {"m/archive_format": b"pt2", "m/models/model.json": order.encode()})


def test_a_file_is_converted_once_and_quietly(torch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = program(tmp_path / "net.pt2")
    graph = load(path)
    assert (graph.name, graph.source, graph.model_hash) == ("net", "net.pt2", load(DIGITS).model_hash)
    assert frameworks.read_bytes(path) == DIGITS.read_bytes()
    x = {"image": np.ones((1, 1, 8, 8), np.float32)}
    np.testing.assert_array_equal(*(Reference.open(each).run(x)["logits"] for each in (path, DIGITS)))
    assert (torch / "imports").read_text() == "x"
    assert "torch" not in sys.modules
    assert capfd.readouterr() == ("", "")


def test_a_file_that_changes_is_converted_again(torch: Path, tmp_path: Path) -> None:
    frameworks.read_bytes(program(tmp_path / "net.pt2"))
    with pytest.raises(ModelError, match="does not convert"):
        frameworks.read_bytes(program(tmp_path / "net.pt2", "refuse"))


def test_a_refusal_has_reason_and_advice(torch: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load(program(tmp_path / "net.pt2", "refuse"))
    assert str(caught.value) == (
        "net.pt2: an exported program of PyTorch, which torch does not convert (ValueError: first line). Export the "
        "network again with the installed version of PyTorch"
    )


def test_a_crash_is_a_message(torch: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^net.pt2: .* the converter of torch crashed \(exit code -?\d+: .*\)\. Save"):
        load(program(tmp_path / "net.pt2", "crash"))


def test_a_converter_that_does_not_end(torch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "_TIMEOUT_S", 0.5)
    with pytest.raises(ModelError, match=r"^net.pt2: .* did not end within 0.5 s\. Convert it yourself"):
        load(program(tmp_path / "net.pt2", "sleep"))


@pytest.mark.parametrize(
    "command",
    [
        ["compile", "net.pt2", "--target", TARGET, "-o", "bundle"],
        ["create", "net.pt2", "--board", "arm/mps2_an386", "-o", "project"],
        ["partition", "net.pt2", "--target", TARGET],
        ["targets", "why", "net.pt2", "--target", TARGET],
        ["report", "net.pt2", "--target", TARGET, "-o", "report.html"],
        ["quantize", "net.pt2", "--data", "samples.npz"],
    ],
    ids=lambda words: words[0],
)
def test_commands_take_files_of_frameworks(
    command: list[str], torch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "net.pt2")
    np.savez("samples.npz", x=np.random.default_rng(1).uniform(0, 1, (12, 1, 8, 8)).astype(np.float32))
    code = cli.invoke(command)
    assert code == 0, capsys.readouterr()


def test_a_missing_extra_gives_the_two_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conversion.importlib.util, "find_spec", lambda name: None)
    program(tmp_path / "net.pt2")
    command = ["compile", "net.pt2", "--target", TARGET]
    assert cli.invoke(command) == 1
    assert capsys.readouterr().err.splitlines() == [
        (
            "error: net.pt2: an exported program of PyTorch, which the package torch converts (extra torch of aboard); "
            "got no such package. Run:"
        ),
        "    pip install 'torch>=2.7' 'onnxscript>=0.5' 'onnx>=1.19'",
        "    aboard compile net.pt2 --target 'c -mcpu=cortex-m4'",
    ]
    assert cli.invoke([*command, "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["exit_code"]) == ("ExtraError", 1)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "saved_model.pb").write_bytes(b"\x08\x01")
    for text in ("folder", "folder/saved_model.pb"):
        assert cli.invoke(["compile", text, "--target", TARGET]) == 1
        assert "a SavedModel of TensorFlow" in capsys.readouterr().err
    with pytest.raises(ExtraError, match=r"Run:\n    pip install 'tensorflow>=2.18' 'keras>=3.11.3'$"):
        aboard.compile(archive(tmp_path / "m.keras", {"config.json": b"", "model.weights.h5": b""}), target=TARGET)


def test_the_extras_are_those_of_the_project() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    for name, packages in extras.EXTRAS.items():
        assert f"\n{name} = {json.dumps(packages)}\n" in text


def test_a_verdict_needs_the_model_not_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(CHECKOUT / "docs" / "how-to", tmp_path / "folder")
    assert cli.invoke(["verify", str(tmp_path / "folder"), "--board", "arm/mps2_an386"]) == 1
    assert "a bundle, expected the model file" in capsys.readouterr().err


def framework(module: str, name: str, base: type = object, **members: Any) -> Any:
    """Returns an object of a class that a framework might define."""
    parent = type(name, (base,), {"__module__": module})
    return type("MyNet", (parent,), {"__module__": "mine", **members})()


def test_objects_become_files(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(pytorch, "of_model", lambda *args: given.append(args) or DIGITS.read_bytes())
    module = framework("torch.nn.modules.module", "Module")
    compiled = aboard.compile(module, target=TARGET, example_inputs="x")
    assert (compiled.name, given) == ("mynet", [(module, "x")])
    assert aboard.compile(module, target=TARGET, name="net").name == "net"


def test_objects_that_are_not_models() -> None:
    with pytest.raises(ModelError, match=r"^model: got an object of class dict, expected a path, bytes, a module of"):
        aboard.compile({"weight": 1}, target=TARGET)
    with pytest.raises(InputError, match=r"^example_inputs: got them with a model file"):
        aboard.compile("digits.onnx", target=TARGET, example_inputs=1)


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("torch.nn.modules.module", "Module", "MyNet: a module of PyTorch without example_inputs, expected the argum"),
        ("sklearn.base", "BaseEstimator", "MyNet: an estimator of scikit-learn(, for whose| without example_inputs)"),
        ("keras.src.models.model", "Model", "MyNet: a Keras model, for whose conversion the package keras is missing"),
    ],
)
def test_objects_without_what_they_need(module: str, name: str, message: str) -> None:
    with pytest.raises((InputError, ExtraError), match=message):
        aboard.compile(framework(module, name, training=True), target=TARGET)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "without example_inputs, expected samples as for `predict`"),
        ([["red", "green"]], "example_inputs are not numbers"),
        ([1.0, 2.0], r"shape of example_inputs, got \(2,\), expected \(samples, features\)"),
        (np.zeros((0, 4)), r"got \(0, 4\)"),
    ],
)
def test_samples_of_an_estimator(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        scikit_learn.sample_of(object(), given)
    assert scikit_learn.sample_of(object(), [[1, 2], [3, 4]]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("explain", "text", "reason", "advice"),
    [
        (keras.explain, "No model config found in the file at x.h5.", "weights and no network", "model.save"),
        (keras.explain, "deserialization of a `Lambda` layer whose", "a Lambda layer holds code", "model.export"),
        (keras.explain, "Could not locate class 'Mine'. Make sure", "its layer Mine is not of Keras", "model.export"),
        (keras.explain, "Unknown layer: 'Mine'. Please", "its layer Mine is not", "model.export"),
        (keras.explain, "'tf.TensorListReserve' op requires element_shape to be static", "free batch", "batch of 1"),
        (keras.explain, "failed\nCustom ops: Svd\nDetails", "no operators Svd", "Replace these layers"),
        (keras.explain, "signatures a, b", "signatures a, b", "serving_default"),
        (keras.explain, "has no inputs of known shape", "has no inputs", "TensorSpec([1"),
        (keras.explain, "input x has free dimensions beside the batch, (None, None)", "input x has", "batch_shape"),
        (keras.explain, "keras 3.9.0 is older than 3.11.3", "keras 3.9.0 is older", "--upgrade keras"),
        (keras.explain, "anything\nelse", "ValueError: anything", "Save the model again"),
        (pytorch.explain, "Weights only load failed", "a pickle that runs code", "aboard.compile"),
        (pytorch.explain, "Could not guard on data-dependent expression", "its path depends on values", "torch.where"),
        (pytorch.explain, "No ONNX function found for x", "No ONNX function found", "Replace the operator"),
        (scikit_learn.explain, "This estimator is not fitted yet", "it is not fitted", "Call `fit`"),
        (scikit_learn.explain, "Unable to create node 'TreeEnsemble'", "an attribute that", "other versions"),
        (scikit_learn.explain, "anything", "ValueError: anything", "Replace the step"),
    ],
)
def test_reasons_of_converters(explain: Any, text: str, reason: str, advice: str) -> None:
    found = explain(ValueError(text))
    assert reason in found[0]
    assert advice in found[1]


def test_a_converter_of_another_library_is_named() -> None:
    kind = type("MissingShapeCalculator", (Exception,), {})
    reason, advice = scikit_learn.explain(kind("Unable to find a shape calculator for type 'LGBM'. Help"))
    assert reason == "Unable to find a shape calculator for type 'LGBM'"
    assert "onnxmltools" in advice
