"""Formats are named by their content; those that aboard cannot read are refused with what to do."""

from __future__ import annotations

import contextlib
import json
import pickle
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import frameworks
from aboard.errors import ModelError
from aboard.frameworks import foreign, signatures
from aboard.frameworks.signatures import EXPORTED_PROGRAM, HDF5, KERAS, SAVED_MODEL
from support.archives import archive
from support.examples import examples

TORCH_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."


def zipped(*names: str) -> Callable[[Path], object]:
    return lambda path: archive(path, dict.fromkeys(names, b"x"))


def raw(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4)


FOREIGN: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "m.pkl": (raw(pickle.dumps([1, 2], protocol=4)), "a Python pickle, which runs code .*aboard.compile"),
    "m.joblib": (raw(zlib.compress(pickle.dumps([1]))), "a Python pickle, which runs code .*skl2onnx.to_onnx"),
    "text.pickle": (raw(pickle.dumps([1], protocol=0)), "a Python pickle, which runs code"),
    "gz.joblib": (raw(b"\x1f\x8b\x08" + bytes(20)), "a Python pickle, which runs code"),
    "weights.pt": (zipped("weights/data.pkl", "weights/data/0"), "a pickle of PyTorch: weights.*torch.export.save"),
    "old.pth": (raw(TORCH_LEGACY), "a pickle of PyTorch: weights"),
    "unknown.pth": (raw(b"what this is nobody knows"), "a pickle of PyTorch: weights"),
    "script.pt": (zipped("s/data.pkl", "s/code/__torch__.py", "s/constants.pkl"), "a TorchScript file"),
    "aoti.pt2": (zipped("a/data/aotinductor/model/x.so"), "a package of AOTInductor"),
    "m.pte": (raw(b"\x20\0\0\0ET12" + bytes(40)), "an ExecuTorch program"),
    "m.safetensors": (raw(safetensors()), "a safetensors file: weights without their network"),
    "cut.safetensors": (raw(b"\x01"), "a safetensors file"),
    "m.mlmodel": (raw(b"\x08\x04\x12\x00"), "a Core ML model"),
    "frozen.pb": (raw(b"\x0a\x10\x0a\x05input"), "a frozen graph of TensorFlow 1"),
    "data.npz": (lambda path: np.savez(path, x=np.zeros(3)), "arrays of NumPy"),
    "data.npy": (lambda path: np.save(path, np.zeros(3)), "arrays of NumPy"),
    "gesture.task": (zipped("a.tflite", "b.tflite"), "a bundle with TFLite files, such as a task"),
    "cut.task": (raw(b"\0"), "a bundle with TFLite files"),
    "llm.gguf": (raw(b"GGUF\x03\0\0\0"), "a GGUF file of a language model"),
    "any.zip": (zipped("readme.txt"), "a ZIP archive without a model"),
    "net.tflite.xz": (raw(b"\xfd7zXZ\0\0"), "a compressed file"),
    "net.tflite": (raw(b"<!DOCTYPE html><html>"), "a web page, not the file"),
    "big.onnx": (raw(b"version https://git-lfs.github.com/spec/v1\n"), "a pointer of Git LFS"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_formats_are_named(name: str, tmp_path: Path) -> None:
    make, expected = FOREIGN[name]
    make(tmp_path / name)
    with pytest.raises(ModelError, match=rf"^{name}: {expected}"):
        frameworks.read_bytes(tmp_path / name)


def test_a_package_of_core_ml(tmp_path: Path) -> None:
    (tmp_path / "m.mlpackage").mkdir()
    with pytest.raises(ModelError, match="a Core ML model"):
        frameworks.read_bytes(tmp_path / "m.mlpackage")


def test_every_foreign_format_is_tested() -> None:
    kinds = [value for value in vars(foreign).values() if isinstance(value, foreign.ForeignFormat)]
    tested = [expected.partition(".*")[0].strip() for _, expected in FOREIGN.values()]
    assert [kind.name for kind in kinds if not any(kind.name.startswith(text) for text in tested)] == []


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("m.keras", zipped("metadata.json", "config.json", "model.weights.h5"), KERAS),
        ("renamed.bin", zipped("config.json", "model.weights.h5"), KERAS),
        ("m.h5", raw(b"\x89HDF\r\n\x1a\n" + bytes(20)), HDF5),
        ("m.pt2", zipped("m/archive_format", "m/models/model.json"), EXPORTED_PROGRAM),
        ("old.pt2", zipped("version", "serialized_exported_program.json"), EXPORTED_PROGRAM),
        ("saved_model.pb", raw(b"\x08\x01\x12\x00"), SAVED_MODEL),
        ("m.tflite", raw(b"\x1c\0\0\0TFL3"), None),
        ("m.onnx", raw(b"\x08\x09\x12\x05torch"), None),
        ("empty.keras", raw(b""), None),
    ],
)
def test_formats_of_frameworks(name: str, make: Callable[[Path], object], expected: object, tmp_path: Path) -> None:
    make(tmp_path / name)
    assert signatures.identify(tmp_path / name, name) is expected


def test_a_saved_model_is_a_folder(tmp_path: Path) -> None:
    assert signatures.identify(tmp_path, "folder") is None
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    assert signatures.identify(tmp_path, "folder") is SAVED_MODEL
    assert frameworks.is_model_folder(tmp_path)


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.pt2", "m.pt", "m.npz"])
def test_cut_archives(name: str, tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole", {"config.json": b"{}", "model.weights.h5": bytes(100)}).read_bytes()
    (tmp_path / name).write_bytes(whole[:-30])
    with pytest.raises(ModelError, match=rf"^{name}: has the suffix .* the file is damaged\. Download or save it"):
        frameworks.read_bytes(tmp_path / name)


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "m.pt2"])
def test_a_suffix_without_its_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"nothing that is known")
    with pytest.raises(ModelError, match="the file is damaged"):
        frameworks.read_bytes(tmp_path / name)


def test_an_archive_that_would_fill_the_disk_is_not_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.keras", {"config.json": b"{}", "model.weights.h5": b"0123456789"})
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 0xF0000000)
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"^bomb.keras: its content, got 40265\d+ bytes when it is unpacked, expected"):
        frameworks.read_bytes(path)


@given(st.binary(max_size=200), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x89HDF\r\n\x1a\n", b"\x80\x04"]))
@settings(max_examples=examples(200), deadline=None)
def test_any_bytes_are_named_or_left_to_importers(data: bytes, head: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".bin", ".keras", ".pt2"):
            path = Path(folder) / f"m{suffix}"
            path.write_bytes(head + data)
            with contextlib.suppress(ModelError):
                found = signatures.identify(path, "m")
                assert found is None or found.name
