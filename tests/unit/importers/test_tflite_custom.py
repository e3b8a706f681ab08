"""Options of custom operators: maps of numbers, and everything else that a file may have in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from aboard.importers.tflite_custom import options
from support.tflite_builder import ModelBuilder

VALUES = {"a": 1, "flag": True, "least": -(2**31), "most": 2**40, "real": 0.5}


def test_numbers_by_name() -> None:
    assert options(bytes(flexbuffers.Dumps(VALUES))) == VALUES
    assert options(b"") == {}
    assert options(bytes(flexbuffers.Dumps({}))) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x01", "got 1 bytes, expected a map of 3 bytes at least"),
        (bytes(flexbuffers.Dumps([1, 2])), "got no map, expected a map of names to numbers"),
        (bytes(flexbuffers.Dumps({"a": [1, 2]})), "got entry 0 that is no number"),
        (bytes(flexbuffers.Dumps({f"n{i}": i for i in range(65)})), "got a map of 65 entries, expected at most 64"),
        (bytes(flexbuffers.Dumps({"n" * 257: 1})), "got a name of 257 bytes, expected at most 256"),
        (b"\xff\x24\x01", "got 3 bytes in which an offset points outside them"),
    ],
)
def test_other_content(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        options(content)


def _read(content: bytes) -> tuple[str, Mapping[str, int | float]]:
    """Returns the message of an error, and the options."""
    try:
        return "", options(content)
    except ValueError as error:
        return str(error), {}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40), st.data())
def test_any_bytes_are_options_or_a_clear_error(content: bytes, data: st.DataObject) -> None:
    damaged = bytearray(flexbuffers.Dumps(VALUES))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    for each in (content, bytes(damaged)):
        text, found = _read(each)
        assert text.startswith("got ") or not text
        assert all(isinstance(value, int | float) for value in found.values())


def test_the_importer_names_the_operator() -> None:
    build = ModelBuilder().tensor("x", (4,), np.int16).tensor("y", (4,), np.int16)
    build.op("CUSTOM", ["x"], ["y"], custom="SignalDelay", custom_options=b"\xff\x24\x01")
    with pytest.raises(ModelError, match="node 0 CUSTOM SignalDelay: custom options, got 3 bytes in which an offset"):
        load(build.build(["x"], ["y"]))
