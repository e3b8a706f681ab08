"""The public names of `aboard`, and the tree of its exceptions."""

from __future__ import annotations

import inspect
import re

import pytest

import aboard
from aboard import errors

NAMES = {
    "AboardError",
    "BoardError",
    "CapacityError",
    "DeviceError",
    "DeviceFault",
    "DeviceStatusError",
    "DeviceTimeout",
    "ExtraError",
    "FlashError",
    "InputError",
    "ModelError",
    "Module",
    "PassError",
    "PluginError",
    "Project",
    "ProjectError",
    "ProtocolError",
    "Session",
    "Target",
    "TargetError",
    "ToolError",
    "TransportError",
    "VerifyError",
    "WrongModelError",
    "__version__",
    "compare",
    "compile",
    "create",
    "quantize",
}


def test_all_is_exactly_what_was_promised() -> None:
    assert set(aboard.__all__) == NAMES
    assert set(dir(aboard)) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(aboard, name)
    assert isinstance(value, str) or inspect.getdoc(value)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'aboard' has no attribute 'nothing'"):
        getattr(aboard, "nothing")  # noqa: B009 - the name is not there on purpose


def test_names_are_what_they_say() -> None:
    from aboard.api import create
    from aboard.compiler.pipeline import compile_model

    assert aboard.compile is compile_model
    assert aboard.create is create


def test_every_exception_is_public_and_drawn_in_the_docstring() -> None:
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes == {name for name in NAMES if name in vars(errors)}
    drawn = re.findall(r"^\W*([A-Z]\w+) {2,}", str(errors.__doc__), re.MULTILINE)
    assert set(drawn) == classes


def test_the_drawing_shows_what_derives_from_device_error() -> None:
    below = str(errors.__doc__).split("DeviceError ")[1]
    drawn = set(re.findall(r"[├└]── (\w+)", below))
    assert drawn == {cls.__name__ for cls in errors.DeviceError.__subclasses__()}
