"""The files that the command lines of snapshots name: damaged models, inputs of wrong shapes, files of a user."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.tflite_builder import ModelBuilder

CHECKOUT = Path(__file__).resolve().parents[2]


def material(folder: Path) -> None:
    """Writes the files that command lines name: models that are damaged, inputs of wrong shapes, files of a user."""
    digits = (CHECKOUT / "host/aboard/models/digits.tflite").read_bytes()
    noise = bytes(range(256)) * 16
    damaged = digits[:1000] + noise[:1000] + digits[2000:]
    models = {"empty": b"", "noise": noise, "cut": digits[:5000], "damaged": damaged, "unsupported": _unsupported()}
    for name, data in {**models, "uint8": _uint8()}.items():
        (folder / f"{name}.tflite").write_bytes(data)
    (folder / "x.json").write_text("{}", encoding="utf-8")
    (folder / "x.bin").write_bytes(bytes(10))
    np.save(folder / "shape.npy", np.zeros((2, 3), np.int8))
    images = np.zeros((4, 8, 8, 1), np.int8)
    np.savez(folder / "samples.npz", x=images, y=np.zeros(4, np.int64))
    np.savez(folder / "shape.npz", x=images[:, :7], y=np.zeros(4, np.int64))
    np.savez(folder / "labels.npz", x=images)
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("precious", encoding="utf-8")


def _unsupported() -> bytes:
    builder = ModelBuilder()
    for index in range(5):
        builder.tensor(f"t{index}", (1, 4), np.float32)
    for index, kind in enumerate(("SIGN", "ATAN2", "SIGN", "SIGN")):
        builder.op(kind, [index], [index + 1])
    return builder.build(["t0"], ["t4"])


def _uint8() -> bytes:
    builder = ModelBuilder()
    for name in ("x", "y"):
        builder.tensor(name, (1, 4), np.uint8, scale=0.5, zero_point=128)
    return builder.op("SOFTMAX", ["x"], ["y"], {"Beta": 1.0}).build(["x"], ["y"])
