"""The options of custom operators: a flexbuffer, which is a map of names to numbers.

A flexbuffer is offsets, as a flatbuffer is. Only a map whose values are numbers is read, so that no table is read twice
and nothing is read in depth.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from flatbuffers import flexbuffers

#: A map has at most this many entries, and a name at most this many bytes: far more than any operator needs.
_MAX_ENTRIES = 64
_MAX_NAME = 256

# A flexbuffer ends with the root (2 bytes at least) and the width of it.
_MIN_BYTES = 3

# What reading a corrupt flexbuffer raises.
_CORRUPT = (struct.error, ValueError, TypeError, IndexError, KeyError, OverflowError, AssertionError)


def options(content: bytes) -> Mapping[str, int | float]:
    """Returns the options of a custom operator by their name; none for an operator without content.

    Args:
        content: The flexbuffer.

    Raises:
        ValueError: It is corrupt, or no map of numbers; the message says what it is.
    """
    if not content:
        return {}
    if len(content) < _MIN_BYTES:
        raise ValueError(f"got {len(content)} bytes, expected a map of {_MIN_BYTES} bytes at least")
    try:
        root = flexbuffers.GetRoot(bytearray(content))
        if not root.IsMap:
            raise _NoMapError("got no map, expected a map of names to numbers")
        entries = root.AsMap
        if not 0 <= len(entries) <= min(_MAX_ENTRIES, len(content)):
            raise _NoMapError(f"got a map of {len(entries)} entries, expected at most {_MAX_ENTRIES}")
        return _numbers(entries)
    except _NoMapError as error:
        raise ValueError(str(error)) from error
    except _CORRUPT as error:
        raise ValueError(f"got {len(content)} bytes in which an offset points outside them") from error


class _NoMapError(Exception):
    """The content is sound, and not what operators have."""


def _numbers(entries: flexbuffers.Map) -> dict[str, int | float]:
    keys, values = entries.Keys, entries.Values
    found: dict[str, int | float] = {}
    for index in range(len(entries)):
        name, value = keys[index].AsKeyBytes, values[index]
        if len(name) > _MAX_NAME:
            raise _NoMapError(f"got a name of {len(name)} bytes, expected at most {_MAX_NAME}")
        if not (value.IsInt or value.IsBool or value.IsFloat):
            raise _NoMapError(f"got entry {index} that is no number, expected a map of names to numbers")
        found[name.decode("ascii")] = value.AsFloat if value.IsFloat else value.AsInt
    return found
