"""The reference for authors of devices: every example runs, and every name is there."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re

import pytest

from aboard import ops
from aboard.kernels import ConstantArg, InputArg, OutputArg, ScratchArg
from aboard.kernels.accelerator import ClaimedRegion
from aboard.ops.activation import Activation
from aboard.ops.box import Box
from aboard.ops.registry import Op
from aboard.ops.subgraph import Matched
from aboard.ops.window import Padding
from aboard.target import Runtime, columns
from aboard.tiling import Tile, TilePlan, Transfer
from support import markdown

PAGE = "docs/reference/device_api.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
CLASSES = {each.__name__: each for each in (Activation, Box, Op, Padding, Tile)}


def test_every_example_gives_what_the_page_shows() -> None:
    blocks = [text for language, text in markdown.blocks(PAGE) if language == "pycon"]
    assert len(blocks) == 9
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE, PAGE, 0)
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(aboard(?:\.\w+)+)", TEXT))))
def test_every_name_is_there(path: str) -> None:
    module, _, name = path.rpartition(".")
    try:
        importlib.import_module(path)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), name), path


@pytest.mark.parametrize("call", re.findall(r"`((?:aboard(?:\.\w+)+|[A-Z]\w+\.\w+)\([\w, =]*\))`", TEXT))
def test_arguments_are_those_of_the_code(call: str) -> None:
    path, _, said = call.removesuffix(")").partition("(")
    head, _, name = path.rpartition(".")
    function = getattr(CLASSES.get(head) or importlib.import_module(head), name)
    real = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
    assert [word.partition("=")[0] for word in said.split(", ") if word] == real


@pytest.mark.parametrize("name", re.findall(r"`([A-Z]\w+\.\w+)", TEXT))
def test_members_are_there(name: str) -> None:
    head, _, member = name.partition(".")
    known = {**CLASSES, "Rounding": importlib.import_module("aboard.ir").Rounding}
    found = known.get(head) or getattr(importlib.import_module("aboard.kernels.accelerator"), head)
    assert hasattr(found, member) or member in {field.name for field in dataclasses.fields(found)}


def test_records_have_the_attributes_of_the_page() -> None:
    for record in (ClaimedRegion, Matched, Runtime, Tile, TilePlan, Transfer, InputArg, OutputArg):
        assert dataclasses.is_dataclass(record)
    (runtime,) = re.findall(r"^## Runtime sources\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    said = {name for row in re.findall(r"^\| (`.*?) \|", runtime, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert said == {field.name for field in dataclasses.fields(Runtime)}
    for name in ("output", "loads", "resident", "store", "padding", "macs"):
        assert f"`{name}`" in TEXT
        assert name in {field.name for field in dataclasses.fields(Tile)}
    assert {field.name for field in dataclasses.fields(ConstantArg)} == {"constant"}
    assert {field.name for field in dataclasses.fields(ScratchArg)} == {"scratch", "ctype"}
    assert ops.get("conv2d").weights_axis == 0


def table() -> str:
    """Returns the table of columns, from their declarations."""
    rows = ["| column | value | meaning |", "|---|---|---|"]
    for name, column in columns.columns().items():
        result = f"`{column.type_name}`" + (" or None" if column.optional else "")
        value = f"function ({', '.join(('target', *column.arguments))}) to {result}" if column.function else result
        rows.append(f"| `{name}` | {value}{'; several' if column.many else ''} | {column.help} |")
    return "\n".join(rows)


def test_the_table_of_columns_is_that_of_the_code() -> None:
    assert table() in TEXT, f"put this table into {PAGE}:\n{table()}"
