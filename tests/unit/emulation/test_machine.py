"""What the emulated machines are made of, apart from the core: serial ports, timers, block lengths, faults."""

from __future__ import annotations

import time

import pytest

from aboard import boards, emulation, runners
from aboard.api import create
from aboard.boards.board import BoardStatus, Interrupts
from aboard.emulation import boot, registers
from aboard.emulation.interrupts import Esp, Plic, Xh3irq
from aboard.emulation.machine import NEVER
from aboard.emulation.timers import EspSystimer, Mtime, Nrf51Timer
from aboard.emulation.uarts import MODELS, Cmsdk, Nrf51, NrfUarte, Ns16550, Pl011, Stm32UsartV1, Stm32UsartV2
from aboard.errors import DeviceFault, ToolError, TransportError
from support.bundles import tiny_bundle

M4 = boards.load("arm/mps2_an386")


class Clock:
    """A machine's clock, moved by hand: an instruction a nanosecond."""

    count = 0
    looked = 0

    def ticks(self, tick_hz: int, since: int = 0) -> int:
        return (self.count - since) * tick_hz // 10**9

    def at_tick(self, tick: int, tick_hz: int, since: int = 0) -> int:
        return since - -tick * 10**9 // tick_hz

    def look(self) -> None:
        self.looked += 1


def test_there_is_a_model_for_each_driver():
    drivers = {boards.load(name).uart.driver for name in boards.names() if "unicorn" in boards.load(name).emulators}
    assert drivers <= set(MODELS)


@pytest.mark.parametrize(
    ("model", "data", "enable", "status", "ready", "empty"),
    [
        (Cmsdk, 0x00, (0x08, 8), 0x04, 2, 0),
        (Pl011, 0x00, (0x38, 0x10), 0x18, 0, 0x10),
        (Ns16550, 0, (1, 1), 5, 0x61, 0x60),
    ],
)
def test_a_serial_port(model, data, enable, status, ready, empty):
    sent = bytearray()
    uart = model(0x1000)
    uart.send = sent.extend
    assert uart.read(status, 4) == empty
    uart.receive(b"ab")
    assert uart.read(status, 4) == ready
    assert not uart.requests
    uart.write(*enable[:1], 4, enable[1])
    assert uart.requests
    assert bytes([uart.read(data, 4), uart.read(data, 4)]) == b"ab"
    assert uart.read(status, 4) == empty
    assert not uart.requests
    uart.write(data, 4, 0x41)
    assert sent == b"A"


def test_a_uarte_moves_bytes_by_dma():
    sent, memory = bytearray(), {}
    uart = NrfUarte(0x1000)
    uart.send, uart.load, uart.store = sent.extend, lambda at, count: b"T" * count, memory.__setitem__
    for offset, value in ((0x534, 0x2000_0000), (0x538, 1), (0x544, 0x2000_0010), (0x548, 1), (0x304, 0x10)):
        uart.write(offset, 4, value)
    uart.receive(b"ab")
    uart.write(0x000, 4, 1)
    assert (memory, uart.requests) == ({}, False)  # not enabled
    uart.write(0x500, 4, 8)
    for byte in (b"a", b"b"):
        uart.write(0x000, 4, 1)
        assert (memory, uart.requests, uart.read(0x110, 4)) == ({0x2000_0000: byte}, True, 1)
        uart.write(0x110, 4, 0)
        assert not uart.requests
    uart.write(0x000, 4, 1)
    assert not uart.requests
    uart.receive(b"c")
    assert memory == {0x2000_0000: b"c"}
    uart.write(0x008, 4, 1)
    assert (sent, uart.read(0x120, 4)) == (b"T", 1)


@pytest.mark.parametrize(
    ("model", "control", "on", "divisor", "status", "taken", "given"),
    [(Stm32UsartV1, 0x0C, 0x200C, 0x08, 0x00, 0x04, 0x04), (Stm32UsartV2, 0x00, 0x000D, 0x0C, 0x1C, 0x24, 0x28)],
)
def test_a_usart_of_stm32(model, control, on, divisor, status, taken, given):
    sent = bytearray()
    uart = model(0x1000)
    uart.send = sent.extend
    uart.receive(b"ab")
    uart.write(given, 4, 0x41)
    assert (uart.read(status, 4), uart.requests, sent) == (0x80, False, b"")
    uart.write(divisor, 4, 365)
    uart.write(control, 4, on)
    assert (uart.read(status, 4), uart.requests) == (0xA0, False)
    uart.write(control, 4, on | 0x20)
    assert uart.requests
    uart.write(divisor, 4, 9)
    assert uart.divisor == 365
    assert bytes([uart.read(taken, 4), uart.read(taken, 4)]) == b"ab"
    assert (uart.read(status, 4), uart.requests) == (0x80, False)
    uart.write(given, 4, 0x42)
    assert sent == b"B"
    uart.reset()
    uart.write(given, 4, 0x43)
    assert (sent, uart.divisor) == (b"B", 0)


def test_registers_hold_what_is_written_and_status_bits_follow():
    rules = [
        BoardStatus(address=0x4000_0000, bits=0x2, follows=0x1),
        BoardStatus(address=0x4000_0004, bits=0x30, follows=0x3, of=0x4000_0000),
        BoardStatus(address=0x4000_1008, bits=0xF, follows=0xF, of=0x4000_0000, inverted=True),
    ]
    values: dict[int, int] = {}
    first, second = (registers.Registers(base, values, rules) for base in (0x4000_0000, 0x4000_1000))
    assert (first.read(0, 4), first.read(4, 4), second.read(8, 4)) == (0, 0, 0xF)
    first.write(0, 4, 0x101)
    assert (first.read(0, 4), first.read(4, 4), second.read(8, 4)) == (0x103, 0x10, 0xE)
    first.write(0, 4, 0x102)
    assert (first.read(0, 4), first.read(4, 4), second.read(8, 4)) == (0x100, 0x20, 0xD)
    assert values == {0x4000_0000: 0x102}


def test_the_pages_of_a_board_are_those_that_its_setup_touches():
    pico = [page.base for page in registers.pages(boards.load("raspberrypi/rpi_pico"), {})]
    assert pico == [0x1800_0000, 0x4000_8000, 0x4000_C000, 0x4001_4000, 0x4002_4000, 0x4002_8000, 0xD000_0000]
    assert registers.pages(M4, {}) == []


def test_the_checksum_of_a_boot_block():
    # The check value of CRC-32/MPEG-2.
    assert boot.crc32(b"123456789") == 0x0376E6E7
    pico = boards.load("raspberrypi/rpi_pico").boot
    body = bytes(range(252))
    block = body + boot.crc32(body).to_bytes(4, "little")
    assert boot.code(pico, block) == body
    with pytest.raises(
        ValueError, match=r"boot block of rp2040: wrong checksum, got 0x00000000, expected 0x[0-9a-f]{8}"
    ):
        boot.code(pico, body + bytes(4))


def test_the_divisor_of_a_16550_is_not_sent():
    sent = bytearray()
    uart = Ns16550(0, reg_shift=2)
    uart.send = sent.extend
    uart.write(3 << 2, 1, 0x83)
    uart.write(0, 1, 2)
    uart.write(1 << 2, 1, 1)
    uart.write(3 << 2, 1, 3)
    uart.receive(b"x")
    assert sent == b""
    assert not uart.requests


def test_nrf51_raises_an_event_for_each_byte():
    uart = Nrf51(0)
    uart.write(0x304, 4, 4)
    uart.receive(b"ab")
    for expected in b"ab":
        assert uart.requests
        uart.write(0x108, 4, 0)
        assert uart.read(0x108, 4) == 0
        assert uart.read(0x518, 4) == expected
    assert not uart.requests
    assert uart.read(0x11C, 4) == 0
    uart.write(0x51C, 4, 0x41)
    assert uart.read(0x11C, 4) == 1
    uart.receive(b"c")
    uart.write(0x108, 4, 0)
    uart.write(0x000, 4, 1)
    assert uart.requests


def test_nrf51_timer():
    clock = Clock()
    timer = Nrf51Timer(0x40008000, 16_000_000, clock)
    assert timer.deadline == NEVER
    timer.write(0x508, 4, 0)
    timer.write(0x544, 4, 0x4000)
    timer.write(0x304, 4, 1 << 17)
    timer.write(0x000, 4, 1)
    assert timer.deadline == 0x4000 * 1000 // 16
    clock.count = timer.deadline
    timer.update(clock.count)
    assert timer.requests
    assert timer.read(0x144, 4) == 1
    assert timer.deadline == 0x14000 * 1000 // 16
    timer.write(0x144, 4, 0)
    assert not timer.requests
    clock.count = 0x10005 * 1000 // 16 + 1
    timer.write(0x040, 4, 1)
    assert timer.read(0x540, 4) == 5


def test_mtime_by_halves():
    clock = Clock()
    clock.count = 0x1_0000_0002 * 100
    mtime = Mtime(0x0200BFF8, 10_000_000, clock)
    assert (mtime.read(0, 4), mtime.read(4, 4), mtime.read(0, 8)) == (2, 1, 0x1_0000_0002)


def test_an_interrupt_is_claimed_once():
    uart = Ns16550(0)
    plic = Plic(Interrupts(driver="plic", address=0x0C000000), uart, 10)
    uart.write(1, 1, 1)
    uart.receive(b"x")
    assert not plic.requests
    plic.write(0x2000, 4, 1 << 10)
    assert plic.requests
    assert plic.read(0x200004, 4) == 10
    assert plic.read(0x200004, 4) == 0
    plic.write(0x200004, 4, 10)
    assert plic.requests


@pytest.mark.parametrize(
    ("board", "code", "count"),
    [
        ("arm/mps2_an386", "00bf 00bf", 2),
        ("arm/mps2_an386", "4ff0 e022 00bf", 2),
        ("arm/mps2_an386", "00e0 fff7 fefe", 2),
        ("riscv/qemu_virt32", "0100 13000000", 2),
    ],
)
def test_length_of_a_block(board, code, count):
    machine = emulation.machine(boards.load(board))
    assert machine.count_instructions(bytes.fromhex(code)) == count


def test_what_is_not_modelled_is_refused():
    other = M4.model_copy(update={"uarts": {"uart0": M4.uarts["uart0"].model_copy(update={"driver": "sifive"})}})
    with pytest.raises(ToolError, match=r"cannot be emulated in this process.*cmsdk, esp, lpuart, pl011, nrf51"):
        emulation.machine(other)
    m55 = M4.cores[0].model_copy(update={"mcpu": "cortex-m55"})
    with pytest.raises(ToolError, match=r"Unicorn does not have the core, got cortex-m55, expected one of: cortex-m0"):
        emulation.machine(M4.model_copy(update={"cores": (m55,)}))


def test_a_core_that_locks_up_is_reported(tmp_path):
    project = create(tiny_bundle(tmp_path / "b", "cortex-m4"), M4, path=tmp_path / "p")
    # The first instruction is undefined, and so is that of the handler of the fault.
    (project.path / "src/main.c").write_text("int main(void) { __builtin_trap(); }\n")
    fault = project.path / "firmware/ports/cortex_m/fault.c"
    fault.write_text(fault.read_text().replace('"mrs r0, msp', '"udf #0\\n\\tmrs r0, msp'))
    project.build()
    with runners.choose(M4, "unicorn") as runner:
        line = runner.start(project)
        deadline = time.monotonic() + 10
        while runner.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "the core is locked up" in runner.end_reason()
        with pytest.raises(TransportError, match="the machine runs no more, the core is locked up"):
            line.read(1)
        line.close()
        with pytest.raises(TransportError, match="the line is closed"):
            line.read(1)


def test_the_boot_block_of_rp2350():
    pico2 = boards.load("raspberrypi/rpi_pico2").boot
    words = [0xFFFFDED3, 0x10210142, 0x203, 0x10000200, 0x3FF, 0, 0xAB123579]

    def found(**changed):
        given = [changed.get(f"at{i}", word) for i, word in enumerate(words)]
        return boot.vectors(pico2, b"".join(word.to_bytes(4, "little") for word in given) + bytes(484))

    assert found() == 0x1000_0200
    with pytest.raises(ValueError, match="no start, got 0x00000000, expected 0xffffded3"):
        found(at0=0)
    with pytest.raises(ValueError, match=r"wrong end, got 0x000002ff, 0x00000000, 0xab123579, expected 0x000003ff"):
        found(at4=0x2FF)
    with pytest.raises(
        ValueError,
        match=r"got type 0x1101 and items \[3, 66\], expected type 0x1021 and item 3",
    ):
        found(at1=0x11010142)


def words(*values):
    return b"".join(value.to_bytes(4, "little") for value in values)


def test_the_boot_block_of_hazard3():
    stated = boards.load("raspberrypi/rpi_pico2:hazard3").boot
    block = [0xFFFFDED3, 0x11010142, 0x344, 0x1000_0020, 0x2000_1000, 0x4FF, 0, 0xAB123579]
    assert boot.entry(stated, words(*block)) == 0x1000_0020
    block[1] = 0x10210142
    with pytest.raises(ValueError, match=r"got type 0x1021 and items \[66, 68\], expected type 0x1101 and item 68"):
        boot.entry(stated, words(*block))


def test_the_words_of_direct_boot():
    stated = boards.load("espressif/esp32c3_devkitm").boot
    assert boot.entry(stated, words(0xAEDB041D, 0xAEDB041D)) == 0x4200_0008
    with pytest.raises(ValueError, match="esp_direct: wrong words, got 0xaedb041d, 0x00000000, expected 0xaedb041d"):
        boot.entry(stated, words(0xAEDB041D, 0))


@pytest.mark.parametrize(
    ("word", "what"),
    [
        (0x0000, "the flash configuration"),
        (0x1000, "the header"),
        (0x1004, "the vector table"),
        (0x1010, "its boot data"),
        (0x1020, "the start of the image"),
    ],
)
def test_the_boot_block_of_the_mimxrt1060(word, what):
    stated = boards.load("nxp/mimxrt1060_evk").boot
    block = bytearray(8192)
    block[:4] = words(0x42464346)
    block[0x1000:0x102C] = words(
        0x412000D1, 0x6000_2000, 0, 0, 0x6000_1020, 0x6000_1000, 0, 0, 0x6000_0000, 0x80_0000, 0
    )
    assert boot.vectors(stated, bytes(block)) == 0x6000_2000
    block[word] ^= 0x40
    with pytest.raises(ValueError, match=f"boot block of mimxrt1060: {what} is wrong, got 0x"):
        boot.vectors(stated, bytes(block))


def test_interrupts_of_hazard3_are_enabled_by_windows():
    uart = Pl011(0)
    controller = Xh3irq(Interrupts(driver="xh3irq"), uart, 33)
    uart.write(0x38, 4, 0x10)
    uart.receive(b"x")
    controller.set_csr(0xBE0, 1 << 17 | 1)  # interrupt 17
    assert not controller.requests
    assert controller.csr(0xBE4, 0) == 1 << 31
    controller.set_csr(0xBE0, 1 << 17 | 2)  # interrupt 33
    assert controller.requests
    assert controller.csr(0xBE4, 0) == 33 << 2
    assert [controller.csr(0xBE0, window) for window in (0, 1, 2)] == [0, 1 << 17, 1 << 17]
    assert controller.csr(0x304, 0) is None


def test_a_line_of_an_esp_needs_a_route_a_priority_and_its_enable_bit():
    uart = MODELS["esp"](0x6000_0000)
    stated = Interrupts(driver="esp", address=0x600C_2000, params={"control": 0x600C_2104})
    controller = Esp(stated, uart, 21)
    uart.write(0x0C, 4, 1)
    uart.write(0x24, 4, 1)
    uart.receive(b"x")
    writes = ((controller, 4 * 21, 5), (controller.control, 0x10 + 4 * 5, 2), (controller.control, 0x00, 1 << 5))
    for part, offset, value in writes:
        assert not controller.requests
        part.write(offset, 4, value)
    assert (controller.requests, controller.cause, controller.masks) == (True, 5, False)
    controller.control.write(0x90, 4, 3)  # a threshold above the priority
    assert not controller.requests
    controller.control.write(0x90, 4, 2)
    controller.control.write(0x04, 4, 1 << 5)  # an edge, which does not come again
    assert not controller.requests


def test_an_instruction_bus_reads_words_only(tmp_path):
    project = create(tiny_bundle(tmp_path / "b", "rv32imc"), "espressif/esp32c3_devkitm", path=tmp_path / "p")
    arch = project.path / "firmware/ports/riscv/port.c"
    code = "aboard_interrupts_init();\n    (void)*(const volatile unsigned short *)0x42000010u;"
    arch.write_text(arch.read_text().replace("aboard_interrupts_init();", code))
    project.build()
    with pytest.raises(DeviceFault, match="0x42000010: the instruction bus of flash cannot read 2 bytes there"):
        project.session("unicorn").close()


def test_the_timer_of_an_esp_keeps_the_last_copy():
    clock = Clock()
    timer = EspSystimer(0x6002_3000, 16_000_000, clock)
    clock.count = 0x1_0000_0002 * 1000 // 16 + 1
    timer.write(4, 4, 1 << 30)
    assert timer.read(0x44, 4) == 0  # it does not run yet
    timer.write(0, 4, 3 << 30)
    timer.write(4, 4, 1 << 30)
    clock.count += 100_000
    assert (timer.read(0x40, 4), timer.read(0x44, 4), timer.read(4, 4)) == (1, 2, 1 << 29)


def test_smaller_peripherals_come_first_in_a_page():
    # The page of SIO has the timer and the register of the set-up.
    machine = emulation.machine(boards.load("raspberrypi/rpi_pico2:hazard3"))
    assert [type(part).__name__ for part in machine._pages[0xD000_0000]] == ["Mtime", "Registers"]
