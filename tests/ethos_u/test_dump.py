"""`aboard npu dump`: streams of files and bundles in words, as Vela's stream has them."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import cli
from aboard.base import extensions, resources
from aboard.errors import ModelError, ProjectError
from aboard.target import Target
from aboard_ethos_u import borders, listing, registers
from aboard_ethos_u.commands import DumpResult
from support import ethos_u, npu_models
from support.tflite_builder import ModelBuilder

TARGET = "arm/mps3_an547 + ethos-u55 -macs=128"
HEADER = resources.firmware() / "emulation" / "ethos_u" / "commands.h"


@pytest.fixture(autouse=True)
def entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the command known, whichever release of the package is installed."""
    real = extensions.entries
    mine = EntryPoint("npu", "aboard_ethos_u.commands:command", "aboard.commands")
    monkeypatch.setattr(extensions, "entries", lambda group: [mine] if group == mine.group else real(group))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump") / "product"
    aboard.compile(npu_models.product(), target=TARGET, name="product").save(folder)
    return folder


def words_of(result: DumpResult) -> list[int]:
    """Returns the words of the only stream, encoded again from the names."""
    plain = {name: code + 0x100 for code, name in registers.PLAIN.items()}
    codes = plain | {name: code for code, name in registers.OPERATIONS.items()}
    wide = {name: code for code, name in registers.WIDE.items()}
    (stream,) = result.streams
    words: list[int] = []
    for each in stream.commands:
        assert each.word == len(words)
        if each.name in wide:
            words += borders.Command(wide[each.name], each.value >> 32, each.value & 0xFFFFFFFF).words
        else:
            words += borders.Command(codes[each.name], each.value).words
    return words


def test_a_bundle_has_the_stream_that_vela_made(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["npu", "dump", str(bundle), "--json"]) == 0
    result = DumpResult.model_validate(json.loads(capsys.readouterr().out))
    _, placed = ethos_u.compiled(npu_models.product(), Target(TARGET).devices[0])
    assert words_of(result) == placed.stream.tolist()
    assert result.streams[0].pointers == {0: "weights", 3: "x0", 4: "y0"}


def test_the_text_has_a_line_for_each_command(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["npu", "dump", str(bundle)]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    (stream,) = listing.streams(bundle)
    assert head == (f"product_0_commands: {len(lines)} commands; base pointers 0 weights, 3 x0, 4 y0")
    assert len(lines) == len(stream.commands)
    text = "\n".join(lines)
    assert re.search(r"^ +\d+  IFM_DEPTH_M1 +36  means 37$", text, re.MULTILINE)
    assert re.search(r"^ +\d+  OFM_DEPTH_M1 +20  means 21$", text, re.MULTILINE)
    assert re.search(r"^ +\d+  IFM_REGION +3  base pointer 3: x0$", text, re.MULTILINE)
    assert re.search(r"^ +\d+  OFM_REGION +4  base pointer 4: y0$", text, re.MULTILINE)
    assert re.search(r"^ +\d+  OP_CONV +0$", text, re.MULTILINE)
    assert lines[-1].split()[1] == "OP_STOP"


def payload(words: list[int], actions: list[int]) -> bytes:
    head = int.from_bytes(b"COP1", "little")
    return np.array([head, *actions, 2 | len(words) << 16, *words], "<u4").tobytes()


def compiled_file(path: Path, data: bytes, custom: str = "ethos-u") -> Path:
    build = ModelBuilder()
    build.tensor("commands", (len(data),), np.uint8, data=np.frombuffer(data, np.uint8))
    build.tensor("x", (1, 4), np.int8, scale=0.1, zero_point=0)
    build.tensor("y", (1, 4), np.int8, scale=0.1, zero_point=0)
    build.op("CUSTOM", ["commands", "x"], ["y"], custom=custom)
    path.write_bytes(build.build(["x"], ["y"]))
    return path


WORDS = [0x10F | 1 << 16, 0x4000, 64, 0x005 | 1 << 16, 0x000 | 0xFFFF << 16]
LINES = [
    (0, "IFM_REGION", "base pointer 1: scratch"),
    (1, "IFM_BASE0", "at 0x40"),
    (3, "OP_POOL", "average"),
    (4, "OP_STOP", "ends the stream, mask 0xffff"),
]


def test_a_file_that_vela_compiled(tmp_path: Path) -> None:
    path = compiled_file(tmp_path / "v.tflite", payload(WORDS, [1, 0x1807, 0x10066001, 5, 5]))
    (stream,) = listing.streams(path)
    assert stream.name == "operator 0"
    found = [(word, registers.name(each), registers.meaning(each, stream.pointers)) for word, each in stream.commands]
    assert found == LINES


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"COP9" * 4, "operator 0: payload of Vela, got payload begins with b'COP9', expected COP1 or COP2. Compile"),
        (payload([], [7]), "operator 0: payload of Vela, got driver action 7, expected COP1 or COP2"),
        (payload(WORDS, [])[:-4], "operator 0: payload of Vela, got a stream of 5 words in 4, expected COP1 or COP2"),
        (b"COP1" + bytes([5, 0, 0, 0]), "operator 0: payload of Vela, got no command stream, expected COP1 or COP2"),
        (payload(WORDS[:2], []), "operator 0: the stream ends within a command, expected its payload. Compile"),
    ],
)
def test_a_damaged_payload(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        listing.streams(compiled_file(tmp_path / "v.tflite", data))


def test_what_has_no_stream(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(ModelError, match="no such file, expected a TFLite file that Vela compiled, or the folder of a"):
        listing.streams(tmp_path / "none")
    with pytest.raises(ModelError, match=r"no command stream, expected an operator ethos-u of Vela\. Give the"):
        listing.streams(resources.models() / "digits.tflite")
    with pytest.raises(ProjectError, match=r"manifest\.json: cannot be read"):
        listing.streams(tmp_path)
    aboard.compile(npu_models.product(), target="c -mcpu=cortex-m55", name="cpu").save(tmp_path / "cpu")
    with pytest.raises(ProjectError, match=r"no command stream, expected a bundle for a target with the NPU\. `ab"):
        listing.streams(tmp_path / "cpu")


def test_a_damaged_bundle(tmp_path: Path) -> None:
    aboard.compile(npu_models.product(), target=TARGET, name="product").save(tmp_path / "b")
    path = tmp_path / "b" / "src" / "product_weights.h"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(_commands\[)\d+", r"\g<1>9999", text), encoding="utf-8")
    with pytest.raises(ProjectError, match=r"product_0_commands: words of the stream, got \d+, expected 9999\."):
        listing.streams(tmp_path / "b")


def test_names_and_numbers_are_those_of_the_model() -> None:
    text = HEADER.read_text(encoding="utf-8")
    enums = [dict(re.findall(r"(\w+) = (0x\w+)", body)) for body in re.findall(r"enum \{(.*?)\};", text, re.DOTALL)]
    operations, plain, wide = ({int(number, 16): name for name, number in enum.items()} for enum in enums)
    assert dict(registers.OPERATIONS) == operations
    assert dict(registers.PLAIN) == plain
    assert {code: name for code, name in registers.WIDE.items() if not re.search(r"_BASE[123]$", name)} == wide


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (borders.Command(0x105, 1), ("IFM_PRECISION", "int8, rows of pixels")),
        (borders.Command(0x105, 1 | 1 << 2 | 1 << 6), ("IFM_PRECISION", "int16, bricks of 16 channels")),
        (
            borders.Command(0x114, 1 | 1 << 8 | 2 << 14),
            ("OFM_PRECISION", "int8, rows of pixels, one scale, rounds once"),
        ),
        (borders.Command(0x122, 0b1_1011), ("KERNEL_STRIDE", "strides 2x2, dilation 2x2, depth first")),
        (borders.Command(0x125, 18 | 3 << 12), ("ACTIVATION", "table 2, range of int8")),
        (borders.Command(0x180, 0x87), ("IFM2_BROADCAST", "a scalar")),
        (borders.Command(0x180, 0x43), ("IFM2_BROADCAST", "repeats rows and columns, operands swapped")),
        (borders.Command(0x109, 0xFF80), ("IFM_ZERO_POINT", "-128")),
        (borders.Command(0x024, 33, 7), ("OFM_SCALE", "7 / 2^33")),
        (borders.Command(0x130, 0x103), ("DMA0_SRC_REGION", "shared RAM of the NPU")),
        (borders.Command(0x032, 0, 4096), ("DMA0_LEN", "4,096 bytes")),
        (borders.Command(0x006, 5), ("OP_ELEMENTWISE", "leaky relu")),
        (borders.Command(0x005, 9), ("OP_POOL", "in an unknown way, 9")),
        (borders.Command(0x1FF, 3), ("register 0x1ff", "")),
        (borders.Command(0x0AA, 3), ("command 0x0aa", "")),
        (borders.Command(0x0AA, 3, 1), ("register 0x0aa with a payload", "")),
    ],
)
def test_meanings(command: borders.Command, expected: tuple[str, str]) -> None:
    assert (registers.name(command), registers.meaning(command, {})) == expected
