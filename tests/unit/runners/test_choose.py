"""Which runner is taken for a board, and what is said when there is none."""

from __future__ import annotations

import pytest

from aboard import boards, runners
from aboard.base import programs
from aboard.errors import ToolError
from aboard.runners.qemu import QemuRunner, command
from aboard.runners.renode import RenodeRunner
from aboard.runners.unicorn import UnicornRunner

M4 = boards.load("arm/mps2_an386")
M55 = boards.load("arm/mps3_an547")
NATIVE = boards.load("host/native")


def test_runners_are_found_by_module():
    assert list(runners.all_runners()) == ["native", "qemu", "unicorn", "renode", "serial"]


@pytest.mark.parametrize(
    ("board", "name", "expected"),
    [(M4, None, "qemu"), (M4, "unicorn", "unicorn"), (M55, None, "qemu"), (NATIVE, None, "native")],
)
def test_choice(board, name, expected):
    runner = runners.choose(board, name)
    assert runner.name == expected
    assert runner.board == board
    assert not runner.alive()
    assert runner.end_reason() == "it was not started"
    runner.stop()


def test_unicorn_stands_in_for_qemu(monkeypatch):
    monkeypatch.setattr(programs, "find", lambda name: None)
    assert runners.choose(M4).name == "unicorn"


@pytest.mark.parametrize(
    ("board", "name", "message"),
    [
        (M4, "qemuu", r"runner qemuu: unknown\. Did you mean qemu\?"),
        (M4, "native", r"runner native: cannot be arm/mps2_an386, which is not a machine .*: qemu, unicorn, renode$"),
        (
            M55,
            "unicorn",
            r"cannot be arm/mps3_an547, whose cortex-m55 Unicorn does not have.*Choose one .*: qemu, renode$",
        ),
        (NATIVE, "qemu", r"cannot be host/native, whose file has no \[emulator\.qemu\].*: native$"),
    ],
)
def test_a_runner_that_cannot_be_the_board_is_refused(board, name, message):
    with pytest.raises(ToolError, match=message):
        runners.choose(board, name)


def test_what_is_missing_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr(programs, "find", lambda name: None)
    with pytest.raises(ToolError, match=r"runner qemu: qemu-system-arm is not on PATH.*apt install qemu-system-arm"):
        runners.choose(M4, "qemu")
    with pytest.raises(
        ToolError, match=r"arm/mps3_an547: nothing to run it with.*qemu: qemu-system-arm is not on PATH"
    ):
        runners.choose(M55)
    riscv = boards.load("riscv/qemu_virt32")
    assert "apt install qemu-system-misc" in str(QemuRunner.missing(riscv))

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolError, match=r"nothing to run it with.*pip install unicorn"):
        runners.choose(M4)
    with pytest.raises(ToolError, match=r"runner unicorn: the package unicorn is not installed"):
        runners.choose(M4, "unicorn")


def test_a_board_that_nothing_can_be():
    board = M4.model_copy(
        update={"emulator": M4.emulator.model_copy(update={"qemu": None, "unicorn": None, "renode": None})}
    )
    with pytest.raises(
        ToolError,
        match=r"no runner supports this board, got .*\(native\), .*\(qemu\), .*\(unicorn\), .*\(renode\)\. Add an emul",
    ):
        runners.choose(board)


@pytest.mark.parametrize(("kind", "name"), [(QemuRunner, "qemu"), (RenodeRunner, "renode")])
def test_an_emulator_of_a_board_without_its_table_says_what_to_do(kind, name):
    expected = (
        rf"runner {name}: cannot be host/native, whose file has no \[emulator\.{name}\]\. Choose another runner, or"
    )
    with pytest.raises(ToolError, match=expected):
        kind(NATIVE).start(None)


def test_qemu_command_lines():
    qemu = M4.emulator.qemu
    assert qemu is not None
    assert " ".join(command("qemu-system-arm", qemu, "a.elf", "pty")) == (
        "qemu-system-arm -machine mps2-an386 -icount shift=0 -display none -monitor none -chardev pty,id=rpc "
        "-serial chardev:rpc -kernel a.elf"
    )
    other = qemu.model_copy(update={"cpu": "cortex-m3", "serial": 2, "arguments": ("-bios", "none")})
    assert " ".join(command("q", other, "a.elf", "pty")) == (
        "q -machine mps2-an386 -cpu cortex-m3 -bios none -icount shift=0 -display none -monitor none "
        "-chardev pty,id=rpc -serial null -serial null -serial chardev:rpc -kernel a.elf"
    )


@pytest.mark.parametrize(
    ("board", "ticks", "hz", "expected"),
    [(M4, 1000, 25_000_000, 40_000), (M4, 0, 25_000_000, 0), (M55, 3, 32_000_000, 94)],
)
def test_instructions(board, ticks, hz, expected):
    assert QemuRunner(board).instructions(ticks, hz) == expected
    assert UnicornRunner(M4).instructions(1000, 25_000_000) == 40_000
    assert runners.choose(NATIVE).instructions(ticks, hz) is None


@pytest.mark.parametrize("kind", [QemuRunner, RenodeRunner])
def test_a_fresh_emulator_has_the_same_line(kind: type[QemuRunner | RenodeRunner]) -> None:
    runner = kind(M4, serial="pty")
    assert runner.fresh().__dict__ == runner.__dict__
    assert runner.end_reason() == "it was not started"
