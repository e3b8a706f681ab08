"""The firmware's RPC in C: vectors, fuzzing with sanitizers, warnings, size and stack."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import DeviceStatusError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.messages import TensorKind
from support.rpc_device import INCLUDES, RPC_SOURCES, SANITIZERS, SOURCES, WARNINGS, FakeDevice, compile_c, sent

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "rpc_vectors.json").read_text())
_COUNTED = (("crc", "crc32"), *((key, key) for key in ("frames", "damaged", "dialogue", "credits", "series", "states")))
_DIALOGUES = (("dialogue", "dialogue"), ("credit", "credits"), ("series", "series"), ("state", "states"))
TOYS = [SOURCES / "fake_device.c", SOURCES / "toy_models.c"]


def _bytes(text: str) -> str:
    data = bytes.fromhex(text)
    values = ", ".join(map(str, data)) or "0"
    return f"{{(const uint8_t[]){{{values}}}, {len(data)}}}"


def _table(kind: str, rows: list[str]) -> str:
    return (
        f"static const {kind}_case_t {kind}_cases[] = {{\n" + ",\n".join(rows) + "\n};\n"
        f"static const size_t {kind}_case_count = {len(rows)};\n"
    )


def _dialogue(cases: list[dict[str, Any]]) -> list[str]:
    return [
        f'{{"{case["name"]}", {_bytes(sent(case).hex())}, '
        f"{_bytes(''.join(framing.encode(bytes.fromhex(message)).hex() for message in case['receive']))}}}"
        for case in cases
    ]


def _c_header() -> str:
    crc = [f'{{"{case["data"][:16]}", {_bytes(case["data"])}, {case["crc"]}u}}' for case in VECTORS["crc32"]]
    frames = [f'{{"{case["name"]}", {_bytes(case["message"])}, {_bytes(case["frame"])}}}' for case in VECTORS["frames"]]
    damaged = [
        f'{{"{case["name"]}", {_bytes(case["bytes"])}, {case["damaged"]}, {case["too_long"]}}}'
        for case in VECTORS["damaged"]
    ]
    dialogues = [(kind, _dialogue(VECTORS[key])) for kind, key in _DIALOGUES]
    tables = (("crc", crc), ("frame", frames), ("damaged", damaged), *dialogues)
    return "".join(_table(kind, rows) for kind, rows in tables)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_vectors_hold_in_c(tmp_path: Path, compiler: str) -> None:
    (tmp_path / "vectors.h").write_text(_c_header())
    sources = [SOURCES / "test_rpc_vectors.c", *TOYS]
    sanitizers = SANITIZERS if compiler == "gcc" else ("-O2",)
    program = compile_c(tmp_path / "vectors", sources, f"-I{tmp_path}", *sanitizers, compiler=compiler)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    counts = " ".join(f"{name} {len(VECTORS[key])}" for name, key in _COUNTED)
    assert done.stdout.splitlines()[-1:] == [f"{counts} failures 0"], done.stdout + done.stderr
    assert done.returncode == 0


def _compile_for_arm(source: Path, folder: Path, core: str) -> Path:
    output = folder / f"{source.stem}.o"
    compiler = shutil.which("arm-none-eabi-gcc")
    assert compiler is not None, "arm-none-eabi-gcc is needed"
    command = [compiler, *WARNINGS, *INCLUDES, f"-mcpu={core}", "-mthumb", "-Os", "-fstack-usage", "-c"]
    done = subprocess.run([*command, str(source), "-o", str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def test_the_server_is_small(tmp_path: Path) -> None:
    objects = [_compile_for_arm(source, tmp_path, "cortex-m4") for source in RPC_SOURCES]
    done = subprocess.run(["arm-none-eabi-size", *objects], capture_output=True, text=True, check=True)
    sizes = [tuple(map(int, line.split()[:3])) for line in done.stdout.splitlines()[1:]]
    text = {source.stem: size[0] for source, size in zip(RPC_SOURCES, sizes, strict=True)}
    # Linked only where a model streams its input.
    assert text.pop("rows") <= 560
    # Linked only where the host may reach the state of a model.
    assert text.pop("states") <= 200
    assert sum(text.values()) <= 4800
    assert all((data, bss) == (0, 0) for _, data, bss in sizes)
    frames = [int(line.split("\t")[1]) for file in tmp_path.glob("*.su") for line in file.read_text().splitlines()]
    assert max(frames) <= 128


@pytest.mark.parametrize(("has", "frame_bytes", "status"), [(15, 128, 0), (15, 65535, 0), (15, 127, 5), (0, 200, 0)])
def test_the_server_checks_its_configuration(has: int, frame_bytes: int, status: int) -> None:
    assert FakeDevice(has=has, frame_bytes=frame_bytes).status == status


@pytest.mark.parametrize(("burst", "status"), [(0, 0), (15, 5), (16, 0), (65535, 0)])
def test_the_server_checks_its_room(burst: int, status: int) -> None:
    assert FakeDevice(burst=burst).status == status


def test_a_build_id_that_is_too_long_is_refused() -> None:
    assert FakeDevice(build="x" * 40).status == 0
    assert FakeDevice(build="x" * 41).status == 5


@pytest.mark.parametrize(
    ("fast", "large", "shift", "status"),
    [(12, 16, 0, 0), (16, 32, 0, 0), (11, 16, 0, 1), (12, 15, 0, 1), (12, 16, 4, 2), (0, 16, 0, 3), (0, 0, 0, 3)],
)
def test_the_memory_of_each_arena_is_checked(fast: int, large: int, shift: int, status: int) -> None:
    assert FakeDevice().c.fake_start_divided(fast, large, shift) == status


def test_a_model_with_two_arenas_is_served_beside_one_in_the_shared_arena() -> None:
    device = FakeDevice()
    assert device.c.fake_start_divided(12, 16, 0) == 0
    client = Client(device.transport())
    assert (client.model(1).name, client.model(1).arena_bytes, client.hello.arena_bytes) == ("divided", 28, 160)
    client.write_input(1, 0, bytes(range(8)))
    for _ in range(2):  # the input is consumed, and comes from the copy again
        client.run(messages.RunRequest(1))
        assert client.read_tensor(1, TensorKind.OUTPUT, 0, 8) == bytes(range(1, 9))
    client.write_workspace(0, bytes(4))  # the workspace is the second arena
    with pytest.raises(DeviceStatusError, match="status 8"):
        client.read_tensor(1, TensorKind.OUTPUT, 0, 8)
    client.write_input(0, 0, bytes(24))
    client.write_input(0, 1, bytes(range(24)))
    client.run(messages.RunRequest(0))
    assert client.read_tensor(0, TensorKind.OUTPUT, 0, 24) == bytes(range(24))
