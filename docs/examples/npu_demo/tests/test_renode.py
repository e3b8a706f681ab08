"""The peripheral for Renode: its script, executed with stand-ins for Renode's objects, against the model."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aboard.target import Target
from npu_demo import core, fast, renode
from npu_demo.core import ACTIVE, CTRL, CYCLES, LIST, SCRATCHPAD, START, STATUS, WORDS
from npu_machine import BYTES, PARAMETERS, WEIGHTS, Machine, X, Y
from npu_machine import LIST as LIST_AT
from test_commands import OPERANDS, conv, store

MHZ = 25
END = 0
WORK = [*OPERANDS, *conv(edges=(3, -5, -100, 100)), 4, *store(48, 1), END]


class Renode:
    """What a script sees of Renode: a peripheral, its machine, and a request for each access."""

    def __init__(self, target: str) -> None:
        self.memory = bytearray(BYTES)
        self.microseconds = 0.0
        self.log: list[str] = []
        bus = SimpleNamespace(
            ReadBytes=lambda address, size: list(self.memory[address : address + size]),
            WriteByte=self.memory.__setitem__,
            WhatIsAt=lambda address: "memory" if address < BYTES else None,
        )
        self.elapsed = SimpleNamespace(TotalMicroseconds=0.0)
        machine = SimpleNamespace(SystemBus=bus, ElapsedVirtualTime=SimpleNamespace(TimeElapsed=self.elapsed))
        peripheral = SimpleNamespace(GetMachine=lambda: machine, ErrorLog=self.log.append)
        self.code = compile(renode.script(Target(target, as_device=True), MHZ), "npu_demo.py", "exec")
        self.scope: dict[str, Any] = {"self": peripheral}
        self.request("Init", 0, 0)

    def request(self, kind: str, offset: int, value: int) -> int:
        fields = {"IsInit": False, "IsRead": False, "IsWrite": False, f"Is{kind}": True}
        fields |= {"Offset": offset, "Value": value}  # type: ignore[dict-item]
        request = SimpleNamespace(**fields)
        self.scope["request"] = request
        exec(self.code, self.scope)
        return int(request.Value)

    def put(self, offset: int, value: int) -> None:
        self.request("Write", offset, value)

    def get(self, offset: int) -> int:
        return self.request("Read", offset, 0)


def operands(memory: bytearray) -> None:
    memory[X : X + 1] = b"\x17"
    memory[WEIGHTS : WEIGHTS + 1] = b"\xf3"
    for place, value in enumerate((100, 1 << 30, 1)):
        memory[PARAMETERS + 4 * place : PARAMETERS + 4 * place + 4] = value.to_bytes(4, "little")
    for place, word in enumerate(WORK):
        memory[LIST_AT + 4 * place : LIST_AT + 4 * place + 4] = word.to_bytes(4, "little")


def test_the_script_does_what_the_model_does() -> None:
    machine = Machine(2, 256, fast.compute)
    emulator = Renode("npu-demo -model=v2 -scratchpad=256")
    seen: list[list[int]] = [[], []]
    for one, other in enumerate((machine, emulator)):
        operands(other.memory)
        assert other.get(SCRATCHPAD) == 256
        other.put(CTRL, ACTIVE)
        for offset, value in zip(core.BASES, (X, Y, WEIGHTS, PARAMETERS), strict=True):
            other.put(offset, value)
        other.put(LIST, LIST_AT)
        other.put(WORDS, len(WORK))
        other.put(CTRL, ACTIVE | START)
        seen[one] += [other.get(STATUS), other.get(CYCLES)]
    machine.now = seen[0][1]
    emulator.elapsed.TotalMicroseconds = seen[1][1] / MHZ
    seen[0].append(machine.get(STATUS))
    seen[1].append(emulator.get(STATUS))
    assert seen[0] == seen[1]
    assert machine.memory == emulator.memory
    # (23 - 3) * -13 and the bias, less 5, beyond the lower limit.
    assert machine.memory[Y] == (-100) & 0xFF


def test_what_renode_is_told_of_a_fault() -> None:
    emulator = Renode("npu-demo")
    with pytest.raises(Exception, match="START, got it while not ACTIVE"):
        emulator.put(CTRL, ACTIVE | START)
    assert emulator.log == [
        "npu-demo v1: CTRL: START, got it while not ACTIVE, expected CTRL.ACTIVE in a write before",
    ]
    emulator.put(CTRL, ACTIVE)
    for offset, value in zip((*core.BASES, *core.JOB), (BYTES, Y, WEIGHTS, PARAMETERS, 1, 1, 1, 0, 0), strict=True):
        emulator.put(offset, value)
    emulator.put(CTRL, ACTIVE | START)
    emulator.elapsed.TotalMicroseconds = 100.0
    with pytest.raises(Exception, match="BASE0: memory at 0x00200000: a device cannot read or write 1 bytes there"):
        emulator.get(STATUS)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["renode", "npu-demo -model=v2 -address=0x50001000", str(tmp_path / "r"), "--mhz", "64"]
    monkeypatch.setattr(sys, "argv", command)
    renode.main()
    assert capsys.readouterr().out.split() == [str(tmp_path / "r/npu_demo.py"), str(tmp_path / "r/npu_demo.repl")]
    script = (tmp_path / "r/npu_demo.py").read_text()
    assert "npu = make(self, 2, 16384, 64)" in script
    assert (tmp_path / "r/npu_demo.repl").read_text() == (
        "npu: Python.PythonPeripheral @ sysbus 0x50001000\n    size: 0x100\n    initable: true\n"
        f'    filename: "{tmp_path}/r/npu_demo.py"\n'
    )


def test_the_script_keeps_to_the_language_of_ironpython() -> None:
    """IronPython 2.7 has none of these; a parser for it is not in Python 3."""
    tree = ast.parse(renode.script(Target("npu-demo -model=v2", as_device=True), MHZ))
    new = (ast.JoinedStr, ast.AnnAssign, ast.Nonlocal, ast.NamedExpr, ast.AsyncFunctionDef, ast.MatMult)
    for node in ast.walk(tree):
        assert not isinstance(node, new), ast.dump(node)
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert all(argument.annotation is None for argument in node.args.args)
        if isinstance(node, ast.ClassDef):
            assert node.bases
        if isinstance(node, ast.Raise):
            assert node.cause is None
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("collections", "operator", "typing")
