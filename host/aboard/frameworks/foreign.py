"""Formats that aboard neither reads nor converts: what they are, and what their user can do."""

from __future__ import annotations

from dataclasses import dataclass

_CONVERT_PICKLE = (
    "Load it in Python, where it was made, and call `aboard.compile(model, target, example_inputs=samples)`; or write "
    'an ONNX file: `open("model.onnx", "wb").write(skl2onnx.to_onnx(model, samples[:1]).SerializeToString())`'
)
_EXPORT_TORCH = (
    "Load it into its network in Python, and save `torch.export.save(torch.export.export(network.eval(), (x,)), "
    '"model.pt2")`'
)


@dataclass(frozen=True)
class ForeignFormat:
    """A format that is refused.

    Attributes:
        name: What the file is, with an article.
        advice: What to do, a sentence without a full stop.
    """

    name: str
    advice: str


PICKLE = ForeignFormat("a Python pickle, which runs code when it is loaded", _CONVERT_PICKLE)
STATE_DICT = ForeignFormat("a pickle of PyTorch: weights without their network, or a module", _EXPORT_TORCH)
TORCHSCRIPT = ForeignFormat(
    "a TorchScript file, which PyTorch no longer develops", f"Export the network itself. {_EXPORT_TORCH}"
)
AOT_INDUCTOR = ForeignFormat(
    "a package of AOTInductor, compiled for another machine",
    "Save the exported program instead, with `torch.export.save`",
)
EXECUTORCH = ForeignFormat(
    "an ExecuTorch program", "Save the program that it was made of, with `torch.export.save`, as model.pt2"
)
SAFETENSORS = ForeignFormat("a safetensors file: weights without their network", _EXPORT_TORCH)
GGUF = ForeignFormat(
    "a GGUF file of a language model, which is too large for a microcontroller",
    "Choose a model that was made for microcontrollers",
)
CORE_ML = ForeignFormat(
    "a Core ML model, which no tool converts back", "Export the model again, from the framework that trained it"
)
FROZEN_GRAPH = ForeignFormat(
    "a frozen graph of TensorFlow 1, which does not say what its inputs are",
    "Convert it with `tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(path, inputs, outputs)`",
)
ARRAYS = ForeignFormat(
    "arrays of NumPy, not a model", "Give the model file here, and arrays to `--data`, `--input` or `example_inputs`"
)
TASK = ForeignFormat(
    "a bundle with TFLite files, such as a task of MediaPipe", "Open it with `unzip`, and give one of them"
)
ZIP = ForeignFormat("a ZIP archive without a model that aboard knows", "Open it with `unzip`, and give the model in it")
COMPRESSED = ForeignFormat("a compressed file", "Open it with `gunzip`, `unxz` or `unzstd`, and give the model in it")
WEB_PAGE = ForeignFormat("a web page, not the file that it shows", "Download the file itself")
LFS_POINTER = ForeignFormat(
    "a pointer of Git LFS, not the file that it stands for", "Run `git lfs pull` in its checkout to download the file"
)

#: Foreign formats by the suffix of a file whose content identifies none.
BY_SUFFIX = {
    ".joblib": PICKLE,
    ".pickle": PICKLE,
    ".pkl": PICKLE,
    ".pt": STATE_DICT,
    ".pth": STATE_DICT,
    ".safetensors": SAFETENSORS,
    ".gguf": GGUF,
    ".mlmodel": CORE_ML,
    ".mlpackage": CORE_ML,
    ".pb": FROZEN_GRAPH,
    ".npy": ARRAYS,
    ".npz": ARRAYS,
    ".task": TASK,
    ".pte": EXECUTORCH,
}
