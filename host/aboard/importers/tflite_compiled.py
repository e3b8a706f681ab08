"""Recognises TFLite files with code for one accelerator from another compiler, and advises the user."""

from __future__ import annotations

from collections.abc import Iterable

#: Custom operators that contain compiled code, with the compiler.
_COMPILED = {
    "CUSTOM ethos-u": "Vela, for an Arm Ethos-U",
    "CUSTOM DISPATCH_OP": "LiteRT, for the NPU of a phone",
    "CUSTOM edgetpu-custom-op": "the Edge TPU compiler, for a Coral Edge TPU",
}


def compiled_for(kinds: Iterable[str]) -> str | None:
    """Returns the problem of a file whose operators are the code of an accelerator; None for any other file.

    Args:
        kinds: Names of all operators.
    """
    found = next((kind for kind in kinds if kind in _COMPILED), None)
    if found is None:
        return None
    return (
        f"was compiled by {_COMPILED[found]} (custom operator {found.removeprefix('CUSTOM ')}), expected the model as "
        "it was before. Give the TFLite file that was the input of that compiler"
    )
