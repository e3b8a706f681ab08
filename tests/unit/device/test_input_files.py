"""Inputs from random numbers and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aboard.base.manifest_records import TensorRecord
from aboard.device import input_files
from aboard.errors import InputError


def tensor(name: str, dtype: str, *shape: int) -> TensorRecord:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return TensorRecord(name=name, c_name=name, dtype=dtype, shape=shape, offset=0, bytes=count)


IMAGE = tensor("image", "int8", 1, 4, 4, 2)
STATE = tensor("state", "float32", 3)


def test_random_is_what_the_manual_says() -> None:
    rng = np.random.default_rng(7)
    image = rng.integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    state = rng.standard_normal(3).astype(np.float32)
    loaded = input_files.load("random:7", [IMAGE, STATE])
    assert list(loaded) == ["image", "state"]
    np.testing.assert_array_equal(loaded["image"], image)
    np.testing.assert_array_equal(loaded["state"], state)
    assert loaded["image"].dtype == np.int8
    assert loaded["state"].dtype == np.float32


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_random_integers_reach_both_ends(dtype: str) -> None:
    drawn = input_files.random([tensor("x", dtype, 4000)], np.random.default_rng(1))["x"]
    info = np.iinfo(dtype)
    assert drawn.dtype == dtype
    assert drawn.min() < info.min // 2 + 1
    assert drawn.max() > info.max // 2
    if dtype in ("int8", "uint8"):
        assert (drawn.min(), drawn.max()) == (info.min, info.max)


def test_extremes() -> None:
    low, high = input_files.extremes([IMAGE, STATE])
    assert set(low["image"].ravel()) == {-128}
    assert set(high["image"].ravel()) == {127}
    assert set(low["state"]) == {-1.0}
    assert set(high["state"]) == {1.0}
    assert low["image"].shape == IMAGE.shape
    assert high["state"].dtype == np.float32


def test_npy_npz_and_bin_round_trip(tmp_path: Path) -> None:
    x = input_files.load("random:3", [IMAGE, STATE])
    np.savez(tmp_path / "x.npz", **x)
    (tmp_path / "x.bin").write_bytes(x["image"].tobytes() + x["state"].tobytes())
    np.save(tmp_path / "x.npy", x["image"])
    for name in ("x.npz", "x.bin"):
        loaded = input_files.load(str(tmp_path / name), [IMAGE, STATE])
        for key, values in x.items():
            np.testing.assert_array_equal(loaded[key], values)
    np.testing.assert_array_equal(input_files.load(str(tmp_path / "x.npy"), [IMAGE])["image"], x["image"])


def test_outputs_are_saved_by_tensor_name(tmp_path: Path) -> None:
    outputs = {"StatefulPartitionedCall:0": np.arange(4, dtype=np.int8), "a/b": np.zeros((1, 2), np.float32)}
    input_files.save(tmp_path / "y.npz", outputs)
    with np.load(tmp_path / "y.npz") as file:
        assert set(file.files) == set(outputs)
        for name, values in outputs.items():
            np.testing.assert_array_equal(file[name], values)


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", images=np.zeros(3))
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    cases = {
        "random:x": "the seed, got 'x', expected a whole number",
        "random:-1": "the seed, got '-1', expected a whole number",
        "x.wav": r"not a kind of input, got '\.wav', expected \.npy, \.npz, \.bin or random:SEED",
        str(tmp_path / "none.npy"): r"none\.npy: cannot be read, got: No such file",
        write(tmp_path / "noise.npy", b"\x00" * 40): r"noise\.npy: not a \.npy file of numbers",
        write(tmp_path / "noise.npz", b"\x00" * 40): r"noise\.npz: not a \.npz file of numbers",
        write(tmp_path / "empty.npy", b""): r"empty\.npy: not a \.npy file of numbers",
        write(tmp_path / "short.bin", b"\x00" * 5): r"short\.bin: got 5 bytes, expected 32",
        str(tmp_path / "objects.npy"): r"objects\.npy: not a \.npy file of numbers",
        str(tmp_path / "other.npz"): r"array image is missing, got images, expected image\. Did you mean images\?",
    }
    for source, message in cases.items():
        with pytest.raises(InputError, match=message):
            input_files.load(source, [IMAGE])
    with pytest.raises(InputError, match=r"one array, got a model with 2 inputs\. Save image, state"):
        input_files.load(str(tmp_path / "one.npy"), [IMAGE, STATE])


def test_an_output_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"got \.txt, expected \.npz\. Name it y\.npz"):
        input_files.check_output(tmp_path / "y.txt")
    with pytest.raises(InputError, match=r"no such folder, got .*nowhere"):
        input_files.check_output(tmp_path / "nowhere" / "y.npz")
