"""Inputs of a run: made at random, at the extremes, or read from files; outputs and state in files.

`random:SEED` means `numpy.random.default_rng(SEED)`, drawn for the inputs in their order: integers uniformly over the
whole range of their type (drawn as int64, those of uint64 as uint64), floats from the standard normal distribution
(drawn as float64).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from aboard import outputs
from aboard.base.manifest_records import TensorRecord
from aboard.device.tensor_io import Values, decode
from aboard.errors import InputError, did_you_mean

Named = dict[str, Values]

_RANDOM = "random:"
_SUFFIXES = (".npy", ".npz", ".bin")


def random(tensors: Sequence[TensorRecord], rng: np.random.Generator) -> Named:
    """Returns random inputs by name, drawn as the module docstring defines."""
    return {tensor.name: _draw(tensor, rng) for tensor in tensors}


def extremes(tensors: Sequence[TensorRecord]) -> list[Named]:
    """Returns two inputs: every element at the minimum of its type, then at the maximum; -1 and 1 for floats."""
    return [{tensor.name: np.full(tensor.shape, _limits(tensor)[end]) for tensor in tensors} for end in (0, 1)]


def load(source: str, tensors: Sequence[TensorRecord]) -> Named:
    """Returns the inputs that a command line names.

    Args:
        source: `random:SEED`, or a file: `.npy` (the only input), `.npz` (by tensor name), `.bin` (raw, little-endian,
            inputs one after another).
        tensors: The model's inputs.

    Raises:
        InputError: The file cannot be read, or its arrays do not match the inputs.
    """
    if source.startswith(_RANDOM):
        return random(tensors, np.random.default_rng(_seed(source)))
    path = Path(source)
    readers: Mapping[str, Callable[[Path, Sequence[TensorRecord]], Named]] = {
        ".npy": _load_npy,
        ".npz": _load_npz,
        ".bin": _load_bin,
    }
    if path.suffix not in readers:
        raise InputError(
            f"--input {source}: not a kind of input, got {path.suffix or source!r}, expected {', '.join(_SUFFIXES)} or "
            "random:SEED. Save it with numpy.save or numpy.savez"
        )
    return _read(path, tensors, readers[path.suffix], "--input")


def load_state(path: Path, tensors: Sequence[TensorRecord]) -> Named:
    """Returns the state that `--state` names: a `.npz` file, as `--save-state` writes it.

    Args:
        path: The file.
        tensors: The model's states.

    Raises:
        InputError: The file cannot be read, or lacks a state.
    """
    if path.suffix != ".npz":
        raise InputError(
            f"--state {path}: got {path.suffix or 'no suffix'}, expected .npz. Name a file of --save-state"
        )
    return _read(path, tensors, _load_npz, "--state")


def _read(
    path: Path, tensors: Sequence[TensorRecord], reader: Callable[[Path, Sequence[TensorRecord]], Named], option: str
) -> Named:
    try:
        return reader(path, tensors)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read, got: {error.strerror or error}. Check the path of {option}"
        ) from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a {path.suffix} file of numbers, got: {error}. Write it again") from error


def save(path: Path, named: Mapping[str, Values], *, force: bool = False) -> None:
    """Writes outputs by tensor name to a `.npz` file.

    Args:
        path: The file.
        named: The outputs.
        force: Overwrite the file even if aboard did not write it, or if it was changed since.

    Raises:
        InputError: The file cannot be written, was not written by aboard, or is not named `.npz`.
    """
    check_output(path, force=force)
    outputs.write_file(path, npz(named), force=force)


def npz(named: Mapping[str, Values]) -> bytes:
    """Returns arrays as a `.npz` file: equal arrays give equal bytes. The archive's comment holds aboard's seal."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, values in named.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)
        archive.comment = outputs.SEAL.encode()
    return outputs.sealed(stream.getvalue())


def check_output(path: Path, *, force: bool = False, option: str = "--output") -> None:
    """Checks before a run that the file of an option can be written.

    Raises:
        InputError: It is not named `.npz`, its folder does not exist, or another program wrote the file that exists
            there.
    """
    if path.suffix != ".npz":
        raise InputError(f"{option} {path}: got {path.suffix or 'no suffix'}, expected .npz. Name it {path.stem}.npz")
    outputs.check_file(path, force=force)


def _seed(source: str) -> int:
    text = source.removeprefix(_RANDOM)
    if not text.isdecimal():
        raise InputError(f"--input {source}: the seed, got {text!r}, expected a whole number from 0. Say random:7")
    return int(text)


def _limits(tensor: TensorRecord) -> tuple[Values, Values]:
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return np.array(-1, dtype), np.array(1, dtype)
    if dtype.kind == "b":
        return np.array(False), np.array(True)
    info = np.iinfo(dtype)
    return np.array(info.min, dtype), np.array(info.max, dtype)


def _draw(tensor: TensorRecord, rng: np.random.Generator) -> Values:
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return rng.standard_normal(tensor.shape).astype(dtype)
    low, high = _limits(tensor)
    drawn = dtype if dtype == np.uint64 else np.dtype(np.int64)
    return rng.integers(int(low), int(high), tensor.shape, drawn, endpoint=True).astype(dtype)


def _load_npy(path: Path, tensors: Sequence[TensorRecord]) -> Named:
    if len(tensors) != 1:
        names = ", ".join(tensor.name for tensor in tensors)
        raise InputError(f"{path}: one array, got a model with {len(tensors)} inputs. Save {names} in an .npz file")
    return {tensors[0].name: np.load(path, allow_pickle=False)}


def _load_npz(path: Path, tensors: Sequence[TensorRecord]) -> Named:
    with np.load(path, allow_pickle=False) as file:
        missing = [tensor.name for tensor in tensors if tensor.name not in file]
        if missing:
            raise InputError(
                f"{path}: array {missing[0]} is missing, got {', '.join(file.files) or 'an empty file'}, expected "
                f"{', '.join(tensor.name for tensor in tensors)}. {did_you_mean(missing[0], file.files)}"
            )
        return {tensor.name: file[tensor.name] for tensor in tensors}


def _load_bin(path: Path, tensors: Sequence[TensorRecord]) -> Named:
    data = path.read_bytes()
    expected = sum(tensor.bytes for tensor in tensors)
    if len(data) != expected:
        raise InputError(f"{path}: got {len(data)} bytes, expected {expected}. Write the inputs one after another")
    chunks, start = [], 0
    for tensor in tensors:
        chunks.append(data[start : start + tensor.bytes])
        start += tensor.bytes
    return decode(chunks, tensors)
