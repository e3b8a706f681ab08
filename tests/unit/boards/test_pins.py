"""The pins of the serial line: the set-up steps against the recorded pins of Zephyr's device trees."""

import re

import pytest

from aboard.boards import registry
from boards import page

#: First GPIO port and the alternate-function value of `MODER`, by the start of the SoC's name.
GPIO = {"stm32f4": 0x4002_0000, "stm32f7": 0x4002_0000, "stm32h7": 0x5802_0000, "stm32l4": 0x4800_0000}
GPIO |= {"stm32g4": 0x4800_0000, "stm32wb": 0x4800_0000, "stm32u5": 0x4202_0000}
ALTERNATE = 2


def cases(prefix):
    for target, stated in page.recorded()["boards"].items():
        board = registry.load(target)
        if board.rpc is not None and board.soc.startswith(prefix):
            yield pytest.param(board, stated["console"]["pins"], id=target)


def settled(board):
    """Returns the registers after the steps of the board, from zero."""
    values = {}
    for step in board.rpc.setup:
        if step.write is not None:
            values[step.address] = step.write
        else:
            old = values.get(step.address, 0xFFFF_FFFF if step.clear else 0)
            values[step.address] = old & ~(step.clear or 0) | (step.set or 0)
    return values


@pytest.mark.parametrize(("board", "pins"), list(cases("st/")))
def test_an_stm32_connects_the_pins_of_the_device_tree(board, pins):
    first = GPIO[board.soc.partition("/")[2][:7]]
    values = settled(board)
    found = [re.fullmatch(r"(\w+)_[tr]x_p([a-k])(\d+)", pin) for pin in pins]
    assert [match[1] for match in found] == [board.rpc.uart] * 2
    functions = set()
    for match in found:
        port, pin = first + 0x400 * (ord(match[2]) - ord("a")), int(match[3])
        assert values[port] >> 2 * pin & 3 == ALTERNATE
        functions.add(values[port + 0x20 + 4 * (pin // 8)] >> 4 * (pin % 8) & 15)
    assert len(functions) == 1


@pytest.mark.parametrize(("board", "pins"), [*cases("nordic/nrf52"), *cases("nordic/nrf5340")])
def test_an_nrf_connects_the_pins_of_the_device_tree(board, pins):
    # Zephyr's NRF_PSEL: the function in the bits from 17 on, then 32 for each port and the pin.
    by_function = {int(pin, 16) >> 17: int(pin, 16) & 0x7F for pin in pins}
    assert (board.rpc.params["tx_pin"], board.rpc.params["rx_pin"]) == (by_function[0], by_function[1])
    values = settled(board)
    for function, value in ((0, 0x3), (1, 0xC)):
        port, pin = divmod(by_function[function], 32)
        first = 0x5084_2700 if board.soc == "nordic/nrf5340" else 0x5000_0700
        assert values[first + 0x300 * port + 4 * pin] == value


@pytest.mark.parametrize(("board", "pins"), list(cases("espressif/")))
def test_an_esp_connects_the_pins_of_the_device_tree(board, pins):
    # Zephyr's ESP32_PINMUX: the pin in 6 bits, then the input signal in 9, all set for none.
    by_direction = {"tx" if int(pin, 16) >> 6 & 0x1FF == 0x1FF else "rx": int(pin, 16) & 0x3F for pin in pins}
    first = {"espressif/esp32c3": 0x6000_9004, "espressif/esp32c6": 0x6009_0004}[board.soc]
    values = settled(board)
    # Function 1 is the serial port itself; the input is on for RX.
    for direction, value in (("tx", 0x800), ("rx", 0xB00)):
        assert values[first + 4 * by_direction[direction]] == value


@pytest.mark.parametrize(("board", "pins"), list(cases("nxp/")))
def test_an_imx_rt_connects_the_pins_of_the_device_tree(board, pins):
    values = settled(board)
    found = [re.fullmatch(r"iomuxc_gpio_ad_b0_(\d+)_(lpuart\d)_[tr]x", pin) for pin in pins]
    assert [match[2] for match in found] == [board.rpc.uart] * 2
    for match in found:
        assert values[0x401F_80BC + 4 * int(match[1])] == 2  # alternative 2 is LPUART1


@pytest.mark.parametrize(("board", "pins"), list(cases("raspberrypi/")))
def test_a_pico_connects_the_pins_of_the_device_tree(board, pins):
    # Zephyr's RP2_PINMUX: the function in 4 bits, then the pin.
    for pin in (int(pin, 16) for pin in pins):
        assert settled(board)[0x4001_4004 + 8 * (pin >> 4)] == pin & 15
