"""The command streams of a file that Vela compiled, or of a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard.base import manifest
from aboard.errors import ModelError, ProjectError
from aboard_ethos_u import borders, vela

#: Operator in which Vela stores a stream, and the names of the NPU's first base pointers there.
_OPERATOR = "CUSTOM ethos-u"
_POINTERS = {0: "constants", 1: "scratch", 2: "fast scratch"}
#: Driver actions of Vela's payload COP1: number, and words after the action.
_CONFIG, _STREAM, _NOTHING = 1, 2, 5
_CONFIG_WORDS = 2

_ARRAY = re.compile(r"const uint32_t (\w+_commands)\[(\d+)\][^{;]*\{([^}]*)\}")
_BUFFER = re.compile(r"\{(\d+)u, (\w+), (\d+)u, (?:true|false)\}")


@dataclass(frozen=True)
class Stream:
    """A command stream.

    Attributes:
        name: Name of its array in the bundle, or of the operator in the file.
        commands: The commands, with the number of their first word.
        pointers: What the base pointers point to, as far as known.
    """

    name: str
    commands: tuple[tuple[int, borders.Command], ...]
    pointers: Mapping[int, str]


def streams(path: Path) -> list[Stream]:
    """Returns the streams of a file or bundle, in the order of execution of the file, or of the names in the bundle.

    Raises:
        ModelError: The file cannot be read, or has no stream.
        ProjectError: The folder is no bundle, or has no stream.
    """
    if path.is_dir():
        return _of_bundle(path)
    if not path.is_file():
        raise ModelError(
            f"{path}: no such file, expected a TFLite file that Vela compiled, or the folder of a bundle. Check it"
        )
    return _of_file(path)


def _of_file(path: Path) -> list[Stream]:
    from aboard.importers.tflite_file import parse

    file = parse(path.read_bytes(), str(path))
    found = []
    for graph in file.subgraphs:
        for number, operator in enumerate(graph.operators):
            if operator.kind == _OPERATOR and operator.inputs:
                data = file.buffer(graph.tensors[operator.inputs[0]].buffer)
                where = f"{path}: operator {number}"
                found.append(_stream(f"operator {number}", _unpacked(data, where), _POINTERS, where))
    if not found:
        raise ModelError(
            f"{path}: no command stream, expected an operator ethos-u of Vela. Give the output of Vela, or a bundle "
            "for a target with the NPU"
        )
    return found


def _unpacked(data: bytes, where: str) -> list[int]:
    """Returns the words of the stream in a payload for a driver."""
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
    try:
        found = _first_form(words) if data[:4] == b"COP1" else vela.payload(words)[1]
    except (ValueError, IndexError) as error:
        raise ModelError(
            f"{where}: payload of Vela, got {error}, expected COP1 or COP2. Compile the file again"
        ) from error
    return [int(word) for word in found]


def _first_form(words: np.ndarray) -> np.ndarray:
    at = 1
    while at < words.size:
        word = int(words[at])
        kind, at = word & 0xFF, at + 1
        if kind == _STREAM:
            count = word >> 16 | (word >> 8 & 0xFF) << 16
            if count > words.size - at:
                raise ValueError(f"a stream of {count} words in {words.size - at}")
            return words[at : at + count]
        if kind not in (_CONFIG, _NOTHING):
            raise ValueError(f"driver action {kind}")
        at += _CONFIG_WORDS if kind == _CONFIG else 0
    raise ValueError("no command stream")


def _stream(name: str, words: list[int], pointers: Mapping[int, str], where: str) -> Stream:
    try:
        return Stream(name, tuple(_placed(words)), pointers)
    except ValueError as error:
        raise ModelError(f"{where}: {error}, expected its payload. Compile the model again") from error


def _placed(words: list[int]) -> Iterator[tuple[int, borders.Command]]:
    at = 0
    for command in borders.commands(words):
        yield at, command
        at += len(command.words)


def _of_bundle(path: Path) -> list[Stream]:
    manifest.read(path)
    files = [file for pattern in ("*.c", "*.h") for file in sorted((path / "src").glob(pattern))]
    texts = [file.read_text(encoding="utf-8") for file in files]
    found = []
    for text in texts:
        for name, count, values in _ARRAY.findall(text):
            words = [int(word) for word in re.findall(r"\d+", values)]
            if len(words) != int(count):
                raise ProjectError(
                    f"{path}: {name}: words of the stream, got {len(words)}, expected {count}. Compile the model again"
                )
            found.append(_stream(name, words, _pointers(name, texts), f"{path}: {name}"))
    if not found:
        raise ProjectError(
            f"{path}: no command stream, expected a bundle for a target with the NPU. `aboard partition` shows what "
            "the NPU computes"
        )
    return found


def _pointers(array: str, texts: list[str]) -> Mapping[int, str]:
    """Returns the arguments of a region's function by base pointer; empty if they are not found."""
    for text in texts:
        for name in re.findall(r"aboard_status_t (\w+)\(", text) if ".commands = commands" in text else ():
            if any(re.search(rf"\b{name}\([^;]*\b{array}\b", each) for each in texts):
                return {int(number): argument for number, argument, _ in _BUFFER.findall(text)}
    return {}
